package main

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/penstock-gateway/penstock/core/pluginhost/pluginhosttest"
)

// pluginTest are the flags of plugin test.
type pluginTest struct {
	output   string
	junit    string
	fixtures string
	update   bool
	config   string
	hold     bool
}

func newPluginTest() *cobra.Command {
	var f pluginTest
	cmd := &cobra.Command{
		Use:   "test PATH",
		Short: "Check a plugin against the contract, with real processes",
		Long: "Check the executable penstock-provider-NAME at PATH, or a plugin that penstock ships by its name. A line for each check:\n" +
			"PASS name or FAIL name: reason; the last line says how many. The exit code is 4 where a check has failed.\n\n" +
			"Answers of the plugin's service may be given in a folder: NAME.frames is a stream as it came, NAME.whole a whole body,\n" +
			"NAME.events what it means. A folder conformance beside the executable is taken by itself.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := f.options(args[0])
			if err != nil {
				return err
			}
			if f.hold {
				return holdPlugin(cmd, o)
			}
			return f.run(cmd, o)
		},
	}
	outputFlag(cmd, &f.output, "text", "json")
	cmd.Flags().StringVar(&f.junit, "junit", "", "write the results to this file in JUnit's XML")
	cmd.Flags().StringVar(&f.fixtures, "fixtures", "", "folder of answers and what they mean")
	cmd.Flags().BoolVar(&f.update, "update", false, "write what the answers mean, in place of checking it")
	cmd.Flags().StringVar(&f.config, "config", "{}", "configuration of the plugin's instance, as JSON")
	cmd.Flags().BoolVar(&f.hold, "hold", false, "start the plugin, print its process id, and wait to be killed")
	cobra.CheckErr(cmd.Flags().MarkHidden("hold"))
	return cmd
}

// options finds the program that is meant.
func (f *pluginTest) options(path string) (o pluginhosttest.Options, err error) {
	self, err := executable()
	if err != nil {
		return o, err
	}
	o = pluginhosttest.Options{Name: path, Bundled: bundledCommand, Config: []byte(f.config), Fixtures: f.fixtures, Update: f.update,
		Serve: []string{self, "plugin", "serve", path}, Describe: []string{self, "plugin", "describe", path},
		Hold: []string{self, "plugin", "test", "--hold", path}}
	if !json.Valid(o.Config) {
		return o, fmt.Errorf("--config: want JSON, got %q", f.config)
	}
	if bundled(path) != nil {
		return o, nil
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return o, err
	}
	dir, file := filepath.Split(abs)
	name, ok := strings.CutPrefix(file, "penstock-provider-")
	if !ok {
		return o, fmt.Errorf("%s: want an executable penstock-provider-NAME, or one of %s", path, strings.Join(bundledNames[:], ", "))
	}
	if _, err := os.Stat(abs); err != nil {
		return o, &exitError{exitNotFound, err.Error()}
	}
	o.Name, o.Dirs, o.Bundled = name, []string{dir}, nil
	o.Serve, o.Describe, o.Hold[len(o.Hold)-1] = []string{abs}, []string{abs, "describe"}, abs
	if beside := filepath.Join(dir, "conformance"); o.Fixtures == "" {
		if info, err := os.Stat(beside); err == nil && info.IsDir() {
			o.Fixtures = beside
		}
	}
	return o, nil
}

// bundledCommand is how a plugin that we ship is started: it is this program again.
func bundledCommand(name string) (path string, args []string, ok bool) {
	if bundled(name) == nil {
		return "", nil, false
	}
	self, err := executable()
	return self, []string{"plugin", "serve", name}, err == nil
}

// holdPlugin is the process that the kit kills.
func holdPlugin(cmd *cobra.Command, o pluginhosttest.Options) error {
	return pluginhosttest.Hold(cmd.Context(), o, func(pid int) { fmt.Fprintln(cmd.OutOrStdout(), pid) })
}

func (f *pluginTest) run(cmd *cobra.Command, o pluginhosttest.Options) error {
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
	defer stop()
	out := cmd.OutOrStdout()
	if f.output == "text" {
		o.Report = func(r pluginhosttest.Result) { printResult(out, r) }
	}
	results, err := pluginhosttest.Run(ctx, o)
	switch {
	case ctx.Err() != nil:
		return &exitError{exitInterrupted, "interrupted"}
	case err != nil:
		return &exitError{exitFailure, err.Error()}
	}
	sum := tally(results)
	if f.junit != "" {
		if err := writeJUnit(f.junit, o.Name, sum); err != nil {
			return &exitError{exitFailure, err.Error()}
		}
	}
	if f.output == "json" {
		err = json.NewEncoder(out).Encode(sum)
	} else {
		_, err = fmt.Fprintf(out, "%d passed, %d failed\n", sum.Passed, sum.Failed)
	}
	if err == nil && sum.Failed > 0 {
		err = &exitError{code: exitTests}
	}
	return err
}

func printResult(w io.Writer, r pluginhosttest.Result) {
	if r.Pass {
		fmt.Fprintf(w, "PASS %s\n", r.Name)
		return
	}
	fmt.Fprintf(w, "FAIL %s: %s\n", r.Name, r.Reason)
}

// testSum is the JSON form of a run.
type testSum struct {
	Passed int                     `json:"passed"`
	Failed int                     `json:"failed"`
	Checks []pluginhosttest.Result `json:"checks"`
}

func tally(results []pluginhosttest.Result) testSum {
	s := testSum{Checks: results}
	for _, r := range results {
		if r.Pass {
			s.Passed++
		} else {
			s.Failed++
		}
	}
	return s
}

// junitSuite is the XML form that build servers read.
type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	Seconds string        `xml:"time,attr"`
	Failure *junitFailure `xml:"failure"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
}

func writeJUnit(path, plugin string, sum testSum) error {
	suite := junitSuite{Name: "plugin " + plugin, Tests: len(sum.Checks), Failures: sum.Failed}
	for _, r := range sum.Checks {
		c := junitCase{Name: r.Name, Class: suite.Name, Seconds: fmt.Sprintf("%.3f", float64(r.Millis)/1000)}
		if !r.Pass {
			c.Failure = &junitFailure{r.Reason}
		}
		suite.Cases = append(suite.Cases, c)
	}
	text, err := xml.MarshalIndent(suite, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append([]byte(xml.Header), append(text, '\n')...), 0o644)
}
