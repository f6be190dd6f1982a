package report

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"time"

	"mcpd/chaos/record"
)

// The elements of the JUnit format that build servers agree on.
type (
	junitRun struct {
		XMLName xml.Name     `xml:"testsuites"`
		Name    string       `xml:"name,attr"`
		Tests   int          `xml:"tests,attr"`
		Failed  int          `xml:"failures,attr"`
		Errors  int          `xml:"errors,attr"`
		Skipped int          `xml:"skipped,attr"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name       string          `xml:"name,attr"`
		Tests      int             `xml:"tests,attr"`
		Failed     int             `xml:"failures,attr"`
		Errors     int             `xml:"errors,attr"`
		Skipped    int             `xml:"skipped,attr"`
		Time       string          `xml:"time,attr"`
		Begun      string          `xml:"timestamp,attr"`
		Properties []junitProperty `xml:"properties>property"`
		Cases      []junitCase     `xml:"testcase"`
		Out        string          `xml:"system-out"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Class   string       `xml:"classname,attr"`
		Name    string       `xml:"name,attr"`
		Time    string       `xml:"time,attr"`
		Failure *junitReason `xml:"failure"`
		Error   *junitReason `xml:"error"`
		Skipped *junitReason `xml:"skipped"`
	}
	junitReason struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes records in the form in which a build server reads tests. An experiment is a suite,
// and an invariant is a case. An invariant that could not be judged is skipped; an invariant that
// was violated is a failure. An aborted run, or a fault that was not injected, is an additional
// error.
func JUnit(w io.Writer, list []record.Record) error {
	run := junitRun{Name: "mcpd chaos"}
	for i := range list {
		s := suiteOf(&list[i])
		run.Suites = append(run.Suites, s)
		run.Tests += s.Tests
		run.Failed += s.Failed
		run.Errors += s.Errors
		run.Skipped += s.Skipped
	}
	data, err := xml.MarshalIndent(run, "", " ")
	if err != nil {
		return fmt.Errorf("junit: %w", err)
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, bytes.ReplaceAll(data, []byte(apart), []byte(plain)))
	return err
}

func suiteOf(r *record.Record) junitSuite {
	experiment := name(r.Experiment.Name)
	s := junitSuite{
		Name: experiment, Time: strconv.FormatFloat(spanOf(r), 'f', 3, 64),
		Begun: r.Begun.UTC().Format("2006-01-02T15:04:05"),
		Properties: []junitProperty{
			{"seed", strconv.FormatUint(r.Seed, 10)}, {"version", name(r.Host.Version)},
			{"machine", machine(r.Host)},
		},
		Out: summarize(r).Sentence,
	}
	put := func(c junitCase) {
		c.Class, c.Time = "chaos."+experiment, "0"
		s.Cases = append(s.Cases, c)
		s.Tests++
		switch {
		case c.Failure != nil:
			s.Failed++
		case c.Error != nil:
			s.Errors++
		case c.Skipped != nil:
			s.Skipped++
		}
	}
	for _, v := range r.Verdicts {
		c := junitCase{Name: name(v.ID) + " " + text(v.Text)}
		is, found := verdictState(v.Result).Word, text(v.Found)
		switch v.Result {
		case record.Pass:
		case record.Fail:
			c.Failure = &junitReason{Message: found, Type: is, Text: found}
		default:
			c.Skipped = &junitReason{Message: is + ": " + found}
		}
		put(c)
	}
	if r.Aborted != "" {
		put(junitCase{
			Name: "runs to its end", Error: &junitReason{Message: text(r.Aborted), Type: aborted.Word},
		})
	}
	for i, strike := range r.Strikes {
		if strike.Error != "" {
			put(junitCase{
				Name:  fmt.Sprintf("fault %d is injected: %s", i+1, name(strike.Kind)),
				Error: &junitReason{Message: text(strike.Error), Type: "not injected"},
			})
		}
		if strike.Wrong != "" {
			put(junitCase{
				Name:  fmt.Sprintf("fault %d goes well: %s", i+1, name(strike.Kind)),
				Error: &junitReason{Message: text(strike.Wrong), Type: "went wrong"},
			})
		}
	}
	return s
}

// machine describes the machine of the run in one line.
func machine(h record.Host) string {
	return fmt.Sprintf("%s, %s, %s, %s", name(h.CPU), countNoun(h.Cores, "core", "cores"),
		name(h.System), name(h.Go))
}

// moment formats the time at which a run began.
func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }
