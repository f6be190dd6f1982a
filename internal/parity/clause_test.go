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

// clause is a part of the specification or of our documentation that makes a difference right.
type clause struct {
	page    string // REVISION/PATH of the specification's page, or a file in docs
	heading string
	says    string // what the clause says, in short

	// fact is what the published schema of the revision shows of it; empty for nothing.
	fact fact
}

// fact says whether a definition of the published schema has a member.
type fact struct {
	definition, member string
	has                bool
}

// site is where the specification is published.
const site = "https://modelcontextprotocol.io/specification/"

// revision is the one of the specification that the clause is of, or nothing for our own.
func (c clause) revision() string {
	revision, _, found := strings.Cut(c.page, "/")
	if !found {
		return ""
	}
	return revision
}

// String is the clause as a link in Markdown, and what it says.
func (c clause) String() string {
	at, name := c.page, c.page
	if c.revision() != "" {
		at, name = site+c.page, strings.Replace(c.page, "/", " §", 1)
	}
	return fmt.Sprintf("[%s, %s](%s#%s): %s", name, c.heading, at, anchor(c.heading), c.says)
}

var notInAnchors = regexp.MustCompile("[^a-z0-9_ -]")

// anchor is the fragment by which a heading is linked.
func anchor(heading string) string {
	return strings.ReplaceAll(notInAnchors.ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
}

// headings are those of a page in Markdown.
func headings(page string) (all []string) {
	for line := range strings.Lines(page) {
		if text := strings.TrimLeft(line, "#"); text != line {
			all = append(all, strings.Trim(text, " \n`"))
		}
	}
	return all
}

// Every rule cites a clause. Those of our own documentation exist, and the published schemas show
// what the others say of members.
func TestClausesExist(t *testing.T) {
	for _, r := range rules {
		if len(r.cites) == 0 {
			t.Errorf("the rule %q cites nothing", r.name)
		}
		for _, c := range r.cites {
			if c.revision() == "" {
				page, err := os.ReadFile(filepath.Join("../../docs", c.page))
				if err != nil || !slices.Contains(headings(string(page)), c.heading) {
					t.Errorf("the rule %q cites docs/%s, which has no heading %q (%v)", r.name, c.page, c.heading, err)
				}
			}
			if c.fact.definition == "" || !mcptest.HasSchemas(t, c.revision()) {
				continue
			}
			if _, got := definition(t, c)[c.fact.member]; got != c.fact.has {
				t.Errorf("the rule %q cites %s of %s: the schema of %s has it: %t", r.name, c.fact.member, c.fact.definition, c.revision(), got)
			}
		}
	}
}

// definition has the members of the definition that a clause is about.
func definition(t *testing.T, c clause) (members map[string]any) {
	t.Helper()
	mcptest.LoadSchemas(t, c.revision(), func(document map[string]any) {
		all := document["$defs"].(map[string]any)
		members = all[c.fact.definition].(map[string]any)["properties"].(map[string]any)
	})
	return members
}
