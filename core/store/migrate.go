package store

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// files holds the migrations: a folder for each database, and in it files that are numbered from 1 without a gap. A file
// that was released is never changed; what comes later is a new one.
//
//go:embed migrations
var files embed.FS

// migrations gives the statements of a database's migrations, the first first.
func migrations(database string) ([]string, error) {
	folder := path.Join("migrations", database)
	entries, err := fs.ReadDir(files, folder)
	if err != nil {
		return nil, err
	}
	var list []string
	for i, e := range entries {
		number, _, _ := strings.Cut(e.Name(), "-")
		if n, err := strconv.Atoi(number); err != nil || n != i+1 {
			return nil, fmt.Errorf("migration %s/%s: want number %d", database, e.Name(), i+1)
		}
		text, err := fs.ReadFile(files, path.Join(folder, e.Name()))
		if err != nil {
			return nil, err
		}
		list = append(list, string(text))
	}
	return list, nil
}

// upToDate judges a version that was found, for one who may not migrate.
func upToDate(have, want int) error {
	switch {
	case have > want:
		return fmt.Errorf("schema %d: want at most %d: a newer penstock wrote it", have, want)
	case have < want:
		return fmt.Errorf("schema %d: want %d: %w", have, want, ErrBehind)
	}
	return nil
}
