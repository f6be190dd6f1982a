package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// clause is a part of the MCP specification or of mcpd's documentation. It explains an exception.
type clause struct {
	page    string // page of the specification as REVISION/PATH, or a file in docs
	heading string // of the section on that page; empty for a whole file in docs
	summary string // summary of the clause
}

// site is the base URL of the published specification.
const site = "https://modelcontextprotocol.io/specification/"

// isOwn reports whether the clause is part of mcpd's own documentation.
func (c clause) isOwn() bool { return strings.HasSuffix(c.page, ".md") }

var notInAnchors = regexp.MustCompile("[^a-z0-9_ -]")

// String returns the clause as a link in Markdown, followed by its summary.
func (c clause) String() string {
	if c.isOwn() {
		return fmt.Sprintf("[%s](%s): %s", c.page, c.page, c.summary)
	}
	anchor := notInAnchors.ReplaceAllString(strings.ToLower(c.heading), "")
	return fmt.Sprintf("[%s, %s](%s%s#%s): %s", strings.Replace(c.page, "/", " §", 1), c.heading,
		site, c.page, strings.ReplaceAll(anchor, " ", "-"), c.summary)
}

// Every exception cites a clause, and every cited file of mcpd's documentation exists.
func TestExceptionsCiteClauses(t *testing.T) {
	for i, e := range exceptions {
		switch {
		case e.clause.page == "" || e.clause.summary == "":
			t.Errorf("exception %d cites nothing", i+1)
		case e.clause.isOwn():
			if _, err := os.Stat(filepath.Join("../../docs", e.clause.page)); err != nil {
				t.Errorf("exception %d: %v", i+1, err)
			}
		case e.clause.heading == "":
			t.Errorf("exception %d cites a page without a section", i+1)
		}
	}
}
