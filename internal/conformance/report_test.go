package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// check is one entry of a scenario's checks.json.
type check struct {
	ID           string `json:"id"`
	Status       string `json:"status"` // SUCCESS, FAILURE, WARNING, SKIPPED, INFO
	ErrorMessage string `json:"errorMessage"`
}

// outcome is the result of one scenario.
type outcome struct {
	scenario
	ran      bool
	counts   map[string]int // by status
	problems []check        // failures and warnings
}

// passed reports whether the scenario ran without failures and warnings. The suite is less
// strict: it only warns in the scenarios that are not scored. A check that the suite itself skips
// does not apply to the revision.
func (o outcome) passed() bool { return o.ran && len(o.problems) == 0 }

// nothingChecked is the ID of a check that this package adds: the suite has checked something.
const nothingChecked = "nothing-checked"

// resultFolder matches the suite's folder for a scenario: "server-" or nothing, the name, and the
// time of the run.
var resultFolder = regexp.MustCompile(`^(?:server-)?(.+)-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d+Z$`)

// read returns the outcome of every scenario of the set, in the order of the set. Results that
// belong to no scenario or cannot be read are errors.
func (s set) read(results fs.FS) ([]outcome, error) {
	outcomes := make([]outcome, len(s.scenarios))
	byName := map[string]*outcome{}
	for i, row := range s.scenarios {
		outcomes[i] = outcome{scenario: row, counts: map[string]int{}}
		byName[row.name] = &outcomes[i]
	}
	var errs []error
	err := fs.WalkDir(results, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != "checks.json" {
			return err
		}
		folder := path.Dir(file)
		name := scenarioOf(s.role, folder)
		switch {
		case leftOut(name):
		case byName[name] == nil:
			errs = append(errs, fmt.Errorf("result %s belongs to no scenario of the table", folder))
		default:
			errs = append(errs, byName[name].read(results, folder))
		}
		return nil
	})
	return outcomes, errors.Join(append(errs, err)...)
}

// scenarioOf returns the scenario whose results are in the folder, or "" if the folder does not
// belong to the role. Only the folders of servers begin with their role.
func scenarioOf(role, folder string) string {
	if match := resultFolder.FindStringSubmatch(folder); match != nil &&
		strings.HasPrefix(folder, "server-") == (role == "server") {
		return match[1]
	}
	return ""
}

func (o *outcome) read(results fs.FS, folder string) error {
	if o.ran {
		return fmt.Errorf("%s: scenario %s ran twice", folder, o.name)
	}
	o.ran = true
	text, err := fs.ReadFile(results, path.Join(folder, "checks.json"))
	if err != nil {
		return err
	}
	var checks []check
	if err := json.Unmarshal(text, &checks); err != nil {
		return fmt.Errorf("%s: %w", folder, err)
	}
	for _, c := range checks {
		o.counts[c.Status]++
		if c.Status == "FAILURE" || c.Status == "WARNING" {
			o.problems = append(o.problems, c)
		}
	}
	if len(o.problems) == 0 && o.counts["SUCCESS"] == 0 && !slices.Contains(neverChecked, o.name) {
		o.problems = append(o.problems, check{
			ID: nothingChecked, Status: "FAILURE", ErrorMessage: "the suite checked nothing",
		})
	}
	// The suite records the output of a client but not its exit status.
	if said, err := fs.ReadFile(results, path.Join(folder, "stdout.txt")); err == nil &&
		string(said) != clientDone {
		why, _ := fs.ReadFile(results, path.Join(folder, "stderr.txt"))
		o.problems = append(o.problems, check{
			ID: "client", Status: "FAILURE", ErrorMessage: strings.TrimSpace(string(why)),
		})
	}
	return nil
}
