package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/penstock-gateway/penstock/core/keyring"
)

func newCredentials() *cobra.Command {
	cmd := &cobra.Command{Use: "credentials", Short: "Providers' credentials that keys and teams bring themselves: set, list, remove, rotate", Args: cobra.NoArgs}
	cmd.AddCommand(newCredentialsSet(), newCredentialsRemove(), newCredentialsRotate(), listing[keyring.Credential]{
		short: "List the credentials that were put while the gateway ran; of a secret no more than its start is shown",
		path:  at("/admin/v1/credentials"), head: []string{"owner", "provider", "name", "prefix", "sealed by", "since"},
		row: func(c *keyring.Credential) []string {
			owner := "key " + c.Key
			if c.Key == "" {
				owner = "team " + c.Team
			}
			return []string{owner, c.Provider, c.Name, orDash(c.Prefix), c.SealedBy, c.CreatedAt.Local().Format(time.DateTime)}
		},
	}.command())
	return cmd
}

// credentialFlags are the flags that say which credential is meant.
func credentialFlags(cmd *cobra.Command, c *keyring.CredentialName) {
	fl := cmd.Flags()
	fl.StringVar(&c.Key, "key", "", "the key that brings it")
	fl.StringVar(&c.Team, "team", "", "the team that brings it")
	fl.StringVar(&c.Provider, "provider", "", "the provider that it is for")
	fl.StringVar(&c.Name, "name", "main", "what it is called, where there are several")
	cmd.MarkFlagsOneRequired("key", "team")
	cmd.MarkFlagsMutuallyExclusive("key", "team")
	cobra.CheckErr(cmd.MarkFlagRequired("provider"))
}

// mostSecret bounds what is read of the standard input.
const mostSecret = 64 << 10

func newCredentialsSet() *cobra.Command {
	var to adminFlags
	var c keyring.NewCredential
	var variable, member string
	var whole bool
	cmd := &cobra.Command{
		Use:   "set",
		Short: "Keep a credential, encrypted; its secret is read from the standard input, or from a variable",
		Example: "  penstock credentials set --key ci --provider openai < openai.key\n" +
			"  penstock credentials set --team search --provider claude --from-env ANTHROPIC_API_KEY\n" +
			"  penstock credentials set --team search --provider bedrock --json < bedrock.json",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			secret, err := readSecret(cmd.InOrStdin(), variable)
			if err != nil {
				return err
			}
			c.Values = map[string]string{member: secret}
			if whole {
				c.Values = nil
				if json.Unmarshal([]byte(secret), &c.Values) != nil { // its error may show what was read
					return fmt.Errorf("--json: want an object whose members are texts")
				}
			}
			_, err = ask(cmd, &to, http.MethodPost, "/admin/v1/credentials", &c, nil)
			return err
		},
	}
	credentialFlags(cmd, &c.CredentialName)
	fl := cmd.Flags()
	fl.StringVar(&variable, "from-env", "", "the variable that holds the secret")
	fl.StringVar(&member, "member", "api_key", "the member of the credential that the secret is")
	fl.BoolVar(&whole, "json", false, "what is read is an object with all members of the credential")
	cmd.MarkFlagsMutuallyExclusive("member", "json")
	to.add(cmd)
	return cmd
}

// readSecret reads a secret from a variable, or else from what is piped in. It is never an argument: those are seen by all
// users of a machine.
func readSecret(in io.Reader, variable string) (string, error) {
	if variable != "" {
		secret := os.Getenv(variable)
		if secret == "" {
			return "", fmt.Errorf("--from-env %s: the variable is not set", variable)
		}
		return secret, nil
	}
	if f, ok := in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return "", fmt.Errorf("the secret is read from the standard input: pipe it in, or name a variable with --from-env")
	}
	b, err := io.ReadAll(io.LimitReader(in, mostSecret+1))
	switch {
	case err != nil:
		return "", err
	case len(b) > mostSecret:
		return "", fmt.Errorf("standard input: want a secret of %d KiB at most", mostSecret>>10)
	}
	secret := strings.TrimRight(string(b), "\r\n")
	if secret == "" {
		return "", fmt.Errorf("standard input: want a secret, got nothing")
	}
	return secret, nil
}

func newCredentialsRemove() *cobra.Command {
	var to adminFlags
	var c keyring.CredentialName
	cmd := &cobra.Command{
		Use:   "remove",
		Short: "Forget a credential; requests of its owner go out with the team's, or the operator's, from now on",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := ask(cmd, &to, http.MethodPost, "/admin/v1/credentials/remove", &c, nil)
			return err
		},
	}
	credentialFlags(cmd, &c)
	to.add(cmd)
	return cmd
}

func newCredentialsRotate() *cobra.Command {
	var to adminFlags
	cmd := &cobra.Command{
		Use:   "rotate",
		Short: "Encrypt all credentials anew with the key of store.encryption.key",
		Long: "Encrypt all credentials anew with the key of store.encryption.key. To change it: move the old text to\n" +
			"store.encryption.previous, set a new key, reload every gateway, run this, and take the old text out.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var done keyring.Resealed
			if _, err := ask(cmd, &to, http.MethodPost, "/admin/v1/credentials/rotate", nil, &done); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%d encrypted anew by the key %s, %d had been before\n", done.Done, done.By, done.Before)
			if len(done.Failed) > 0 {
				return &exitError{exitFailure, "not to be decrypted:\n" + strings.Join(done.Failed, "\n")}
			}
			return nil
		},
	}
	to.add(cmd)
	return cmd
}
