package otp

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
)

//go:generate go test -run ^TestParity$ . -update

var update = flag.Bool("update", false,
	"rewrite the expectations in testdata and docs/otp-parity.gen.md")

const (
	parityFile = "testdata/parity.txt"
	parityDoc  = "../../docs/otp-parity.gen.md"
)

// parityCase is one block of testdata/parity.txt.
type parityCase struct{ name, rule, setup, tree, do, want, differs, absent string }

func (c *parityCase) field(key string) *string {
	return map[string]*string{"case": &c.name, "rule": &c.rule, "setup": &c.setup, "tree": &c.tree,
		"do":   &c.do,
		"want": &c.want, "differs": &c.differs, "absent": &c.absent}[key]
}

var parityFields = []string{"case", "rule", "setup", "tree", "do", "want", "differs", "absent"}

func readParity(t *testing.T) (head string, cases []*parityCase) {
	data, err := os.ReadFile(parityFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range strings.Split(strings.TrimSpace(string(data)), "\n\n") {
		if strings.HasPrefix(block, "#") {
			head = block
			continue
		}
		c := &parityCase{}
		for _, line := range strings.Split(block, "\n") {
			key, value, _ := strings.Cut(line, ":")
			f := c.field(key)
			if f == nil {
				t.Fatalf("%s: %q", parityFile, line)
			}
			*f = strings.TrimSpace(value)
		}
		cases = append(cases, c)
	}
	return head, cases
}

// TestParity runs every case on the real driver, on virtual time, and checks that the page in docs
// has the same results.
func TestParity(t *testing.T) {
	head, cases := readParity(t)
	for i, c := range cases {
		if c.absent != "" {
			continue
		}
		t.Run(fmt.Sprintf("%02d_%s", i, strings.ReplaceAll(c.name, " ", "_")), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got := runParity(t, c)
				if *update {
					c.want = got
				}
				if got != c.want {
					t.Errorf("tree %s\ndo   %s\ngot  %s\nwant %s", c.tree, c.do, got, c.want)
				}
			})
		})
	}
	page := parityPage(cases)
	if *update {
		write(t, parityFile, parityText(head, cases))
		write(t, parityDoc, page)
	}
	if old, _ := os.ReadFile(parityDoc); string(old) != page {
		t.Errorf("%s is not what the cases say; run go generate", parityDoc)
	}
}

func runParity(t *testing.T, c *parityCase) string {
	r := newRig(t)
	defer r.close()
	for _, e := range split(c.setup) {
		r.do(e)
	}
	r.start(c.tree)
	for _, e := range split(c.do) {
		r.do(e)
	}
	return r.outcome()
}

// split splits events at semicolons outside braces.
func split(s string) (out []string) {
	depth, from := 0, 0
	for i, c := range s + ";" {
		switch {
		case c == '{':
			depth++
		case c == '}':
			depth--
		case c == ';' && depth == 0:
			if e := strings.TrimSpace(s[from:i]); e != "" {
				out = append(out, e)
			}
			from = i + 1
		}
	}
	return out
}

func parityText(head string, cases []*parityCase) string {
	var b strings.Builder
	b.WriteString(head + "\n")
	for _, c := range cases {
		b.WriteString("\n")
		for _, key := range parityFields {
			if v := *c.field(key); v != "" {
				fmt.Fprintf(&b, "%s: %s\n", key, v)
			}
		}
	}
	return b.String()
}

func parityPage(cases []*parityCase) string {
	var b strings.Builder
	run, differs := 0, 0
	for _, c := range cases {
		if c.absent == "" {
			run++
		}
		if c.differs != "" {
			differs++
		}
	}
	fmt.Fprintf(&b, `# OTP parity

Generated from supervisor/otp/testdata/parity.txt by go generate; do not edit. Every row is run by TestParity.

%d cases: %d met, %d differ deliberately. A case is named after the test of OTP's supervisor_SUITE that shows the same, or
"doc" for a rule of OTP's documentation. In outcomes, +a: a started, !a: its start failed, -a(r): it ended with
reason r, x=y: request x was answered y; after the bar the tree: a#2 runs in its second incarnation.

| case | rule | tree | events | outcome | |
|---|---|---|---|---|---|
`, run, run-differs, differs)
	for _, c := range cases {
		if c.absent != "" {
			continue
		}
		verdict := "met"
		if c.differs != "" {
			verdict = "differs: " + c.differs
		}
		events := c.do
		if c.setup != "" {
			events = "before: " + c.setup + " " + events
		}
		fmt.Fprintf(&b, "| %s | %s | `%s` | %s | %s | %s |\n", c.name, c.rule, c.tree, code(events),
			code(strings.ReplaceAll(c.want, "|", "¦")), verdict)
	}
	b.WriteString("\nTests of supervisor_SUITE that have no counterpart here:\n\n| case | why " +
		"|\n|---|---|\n")
	for _, c := range cases {
		if c.absent != "" {
			fmt.Fprintf(&b, "| %s | %s |\n", c.name, c.absent)
		}
	}
	return b.String()
}

func code(s string) string {
	if s = strings.TrimSpace(s); s == "" {
		return ""
	}
	return "`" + s + "`"
}

func write(t *testing.T, path, text string) {
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
