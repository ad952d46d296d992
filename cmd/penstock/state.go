package main

import (
	"encoding/json"
	"os"
	"path/filepath"
)

// stateDir is the folder for what must outlive the process: the flag, else $XDG_STATE_HOME/penstock.
func stateDir(flag string) (string, error) {
	if flag != "" {
		return filepath.Abs(flag)
	}
	if dir := os.Getenv("PENSTOCK_STATE"); dir != "" {
		return filepath.Abs(dir)
	}
	if dir := os.Getenv("XDG_STATE_HOME"); dir != "" {
		return filepath.Join(dir, "penstock"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, ".local", "state", "penstock"), nil
}

// configPath finds the configuration: the flag, ./penstock.yaml, then the user's; "" where there is none.
func configPath(flag string) string {
	if flag != "" {
		return flag
	}
	if p := os.Getenv("PENSTOCK_CONFIG"); p != "" {
		return p
	}
	places := []string{"penstock.yaml"}
	if dir, err := os.UserConfigDir(); err == nil {
		places = append(places, filepath.Join(dir, "penstock", "penstock.yaml"))
	}
	for _, p := range places {
		if _, err := os.Stat(p); err == nil {
			return p
		}
	}
	return ""
}

// writeFile writes JSON for its owner alone, whole or not at all.
func writeFile(path string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(append(b, '\n'))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
