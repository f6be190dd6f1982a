package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

// check is one entry of a scenario's checks.json.
type check struct {
	ID           string `json:"id"`
	Status       string `json:"status"` // SUCCESS, FAILURE, WARNING, SKIPPED, INFO
	ErrorMessage string `json:"errorMessage"`
}

// outcome is what a scenario came to.
type outcome struct {
	scenario
	ran    bool
	counts map[string]int // by status
	wrong  []check        // failures and warnings
}

// passed is stricter than the suite: what it only warns of, as it does in the scenarios that are not scored, is not passed either. A
// check that the suite itself skips does not apply to the revision.
func (o outcome) passed() bool { return o.ran && len(o.wrong) == 0 && o.counts["SUCCESS"] > 0 }

// resultFolder is how the suite names the folder of a scenario: "server-", the name, and when it ran.
var resultFolder = regexp.MustCompile(`^server-(.+)-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d+Z$`)

// read returns the outcome of every scenario that should have run, in the order of the table, and an error for results that belong to
// none or cannot be read.
func read(results fs.FS) ([]outcome, error) {
	outcomes := make([]outcome, len(scenarios))
	byName := map[string]*outcome{}
	for i, s := range scenarios {
		outcomes[i] = outcome{scenario: s, counts: map[string]int{}}
		byName[s.name] = &outcomes[i]
	}
	folders, err := fs.ReadDir(results, ".")
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, folder := range folders {
		match := resultFolder.FindStringSubmatch(folder.Name())
		if match == nil || byName[match[1]] == nil {
			errs = append(errs, fmt.Errorf("result %s belongs to no scenario of the table", folder.Name()))
			continue
		}
		errs = append(errs, byName[match[1]].read(results, path.Join(folder.Name(), "checks.json")))
	}
	return outcomes, errors.Join(errs...)
}

func (o *outcome) read(results fs.FS, file string) error {
	if o.ran {
		return fmt.Errorf("%s: scenario %s ran twice", file, o.name)
	}
	o.ran = true
	text, err := fs.ReadFile(results, file)
	if err != nil {
		return err
	}
	var checks []check
	if err := json.Unmarshal(text, &checks); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	for _, c := range checks {
		o.counts[c.Status]++
		if c.Status == "FAILURE" || c.Status == "WARNING" {
			o.wrong = append(o.wrong, c)
		}
	}
	return nil
}

// table shows the outcomes to a reader.
func table(outcomes []outcome) string {
	var b strings.Builder
	passed := 0
	fmt.Fprintf(&b, "%-32s %-10s %-8s %s\n", "scenario", "scored", "result", "checks")
	for _, o := range outcomes {
		result, scored := "FAILED", "scored"
		if o.passed() {
			result = "passed"
			passed++
		}
		if !o.ran {
			result = "MISSING"
		}
		if !o.scored {
			scored = "not scored"
		}
		line := fmt.Sprintf("%-32s %-10s %-8s %d passed", o.name, scored, result, o.counts["SUCCESS"])
		if n := o.counts["SKIPPED"]; n > 0 {
			line += fmt.Sprintf(", %d do not apply", n)
		}
		fmt.Fprintln(&b, line)
		for _, c := range o.wrong {
			fmt.Fprintf(&b, "    %s %s: %s\n", strings.ToLower(c.Status), c.ID, c.ErrorMessage)
		}
	}
	fmt.Fprintf(&b, "%d of %d scenarios passed\n", passed, len(outcomes))
	return b.String()
}
