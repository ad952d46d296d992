package config

import "fmt"

// meant says which of the known names an unknown one may have been meant to be, as an addition to a message.
func meant(name string, known []string) string {
	if near := nearestName(name, known); near != "" {
		return fmt.Sprintf(" (did you mean %q?)", near)
	}
	return ""
}

// nearestName gives the candidate that is spelled most like a name, or "" where none is near enough.
func nearestName(name string, candidates []string) string {
	const (
		longest = 128  // bytes: longer names have no nearest
		most    = 4096 // candidates that are looked at
	)
	best, least := "", min(2+len(name)/3, len(name)) // something must be alike
	if len(name) > longest {
		return ""
	}
	for _, c := range candidates[:min(len(candidates), most)] {
		if len(c) > longest {
			continue
		}
		if d := distance(name, c); d < least {
			best, least = c, d
		}
	}
	return best
}

// distance is the number of single-byte edits between two names, two neighbours that changed places being one.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			cost := last[j]
			if a[i] != b[j] {
				cost = 1 + min(last[j], last[j+1], row[j])
			}
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				cost = min(cost, before[j-1]+1)
			}
			row[j+1] = cost
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
