package parity

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mcpd/internal/mcptest"
)

// clause is a part of the specification, or of our documentation, that allows a difference.
type clause struct {
	page    string // REVISION/PATH of the specification's page, or a file in docs
	heading string
	text    string // short summary of the clause

	// fact is the evidence for the clause in the published schema of the revision; zero if there is
	// none.
	fact fact
}

// fact says that a definition of the published schema has a member, or that it lacks the member.
type fact struct {
	definition, name string
	has              bool
}

// site is the base URL of the specification.
const site = "https://modelcontextprotocol.io/specification/"

// revision returns the revision of the specification that contains the clause. It is empty for a
// clause of our documentation.
func (c clause) revision() string {
	revision, _, found := strings.Cut(c.page, "/")
	if !found {
		return ""
	}
	return revision
}

// String returns the clause as a Markdown link with its summary.
func (c clause) String() string {
	at, name := c.page, c.page
	if c.revision() != "" {
		at, name = site+c.page, strings.Replace(c.page, "/", " §", 1)
	}
	return fmt.Sprintf("[%s, %s](%s#%s): %s", name, c.heading, at, anchor(c.heading), c.text)
}

var notInAnchors = regexp.MustCompile("[^a-z0-9_ -]")

// anchor returns the fragment identifier of a heading.
func anchor(heading string) string {
	return strings.ReplaceAll(notInAnchors.ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
}

// headings returns the headings of a Markdown page.
func headings(page string) (all []string) {
	for line := range strings.Lines(page) {
		if text := strings.TrimLeft(line, "#"); text != line {
			all = append(all, strings.Trim(text, " \n`"))
		}
	}
	return all
}

// Every rule cites a clause. A cited clause of our documentation exists. The published schemas
// confirm the facts about members in clauses of the specification.
func TestClausesExist(t *testing.T) {
	for _, r := range rules {
		if len(r.cites) == 0 {
			t.Errorf("the rule %q cites nothing", r.name)
		}
		for _, c := range r.cites {
			if c.revision() == "" {
				page, err := os.ReadFile(filepath.Join("../../docs", c.page))
				if err != nil || !slices.Contains(headings(string(page)), c.heading) {
					t.Errorf("the rule %q cites docs/%s, which has no heading %q (%v)", r.name, c.page,
						c.heading, err)
				}
			}
			if c.fact.definition == "" || !mcptest.HasSchemas(t, c.revision()) {
				continue
			}
			if _, got := definition(t, c)[c.fact.name]; got != c.fact.has {
				t.Errorf("the rule %q cites %s of %s: the schema of %s has it: %t", r.name, c.fact.name,
					c.fact.definition, c.revision(), got)
			}
		}
	}
}

// definition returns the members of the schema definition that the fact of a clause names.
func definition(t *testing.T, c clause) (members map[string]any) {
	t.Helper()
	mcptest.LoadSchemas(t, c.revision(), func(document map[string]any) {
		all := document["$defs"].(map[string]any)
		members = all[c.fact.definition].(map[string]any)["properties"].(map[string]any)
	})
	return members
}
