package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// adminFile is what a running gateway leaves in its state folder so that commands on the same machine find it.
type adminFile struct {
	Admin string `json:"admin"`
	Token string `json:"admin_token"`
}

// adminFlags say which gateway a command speaks to.
type adminFlags struct{ url, token, state string }

func (f *adminFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.url, "admin", os.Getenv("PENSTOCK_ADMIN"), "URL of the admin listener (PENSTOCK_ADMIN)")
	cmd.Flags().StringVar(&f.token, "token", "", "admin token (PENSTOCK_ADMIN_TOKEN)")
	cmd.Flags().StringVar(&f.state, "state", "", "state folder of the gateway")
}

// find works out address and token: flag, environment, then the state folder's admin.json.
func (f *adminFlags) find() (adminFile, error) {
	a := adminFile{Admin: f.url, Token: f.token}
	if a.Token == "" {
		a.Token = os.Getenv("PENSTOCK_ADMIN_TOKEN")
	}
	if a.Admin != "" && a.Token != "" {
		return a, nil
	}
	dir, err := stateDir(f.state)
	if err != nil {
		return a, err
	}
	b, err := os.ReadFile(filepath.Join(dir, "admin.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return a, &exitError{exitUnreachable, "no gateway found: " + dir + " holds no admin.json; is it running? Name it by --admin and --token, or its --state"}
	}
	if err != nil {
		return a, err
	}
	var left adminFile
	if err := json.Unmarshal(b, &left); err != nil {
		return a, fmt.Errorf("%s: %v", filepath.Join(dir, "admin.json"), err)
	}
	if a.Admin == "" {
		a.Admin = left.Admin
	}
	if a.Token == "" {
		a.Token = left.Token
	}
	return a, nil
}

// adminAnswer is an answer of the admin API.
type adminAnswer struct {
	status int
	body   []byte
}

// call asks the admin API.
func (f *adminFlags) call(ctx context.Context, method, path string) (adminAnswer, error) {
	got, err := f.send(ctx, method, path, nil)
	if err == nil && got.status == http.StatusNotFound {
		return adminAnswer{}, &exitError{exitNotFound, path + ": not found"}
	}
	return got, err
}

// send asks the admin API with a body. That something is not found is for the caller to say.
func (f *adminFlags) send(ctx context.Context, method, path string, body []byte) (adminAnswer, error) {
	a, err := f.find()
	if err != nil {
		return adminAnswer{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(a.Admin, "/")+path, bytes.NewReader(body))
	if err != nil {
		return adminAnswer{}, err
	}
	req.Header.Set("Authorization", "Bearer "+a.Token)
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		return adminAnswer{}, &exitError{exitUnreachable, "the gateway does not answer: " + err.Error()}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 64<<20))
	if err != nil {
		return adminAnswer{}, &exitError{exitUnreachable, "the gateway's answer broke off: " + err.Error()}
	}
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return adminAnswer{}, &exitError{exitAuth, "the gateway refuses the admin token"}
	}
	return adminAnswer{resp.StatusCode, text}, nil
}
