package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/chaos/experiment"
	"mcpd/chaos/faults"
	"mcpd/gateway/auth"
	"mcpd/gateway/config"
	"mcpd/protocol"
	"mcpd/supervisor"
)

// pages are the documents whose examples are tested: the hand-written ones and the one about
// configuration.
var pages = []string{
	"README.md", "actors/README.md", "docs/ARCHITECTURE.md", "docs/operations.md",
	"docs/requirements.md", "docs/negotiation.md", "docs/chaos-report.md",
	"docs/config.gen.md", "docs/tree.gen.md",
	"docs/exit-codes.gen.md", "docs/versions.gen.md", "docs/lifecycle.gen.md",
	"docs/upstream-states.gen.md", "docs/telemetry.gen.md", "docs/limits.gen.md",
	"docs/otp-parity.gen.md",
	experiments,
}

// experiments is the page whose YAML blocks are experiments. The YAML blocks of all other pages
// are configurations.
const experiments = "docs/chaos.gen.md"

// docsRoot is the project's root, relative to this folder.
const docsRoot = "../.."

func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(docsRoot, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// block is a fenced block of a page.
type block struct{ page, kind, text string }

var fence = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")

// blocks returns the blocks of a kind in all pages.
func blocks(t *testing.T, kind string) []block {
	t.Helper()
	var list []block
	for _, name := range pages {
		for _, m := range fence.FindAllStringSubmatch(page(t, name), -1) {
			if m[1] == kind {
				list = append(list, block{name, kind, m[2]})
			}
		}
	}
	if len(list) == 0 {
		t.Fatalf("no page has a block of %s", kind)
	}
	return list
}

// The README names every revision that mcpd speaks.
func TestReadmeNamesEveryRevision(t *testing.T) {
	for _, v := range protocol.Versions() {
		if !regexp.MustCompile(`mcpd speaks [^.]*` + v.String()).MatchString(page(t, "README.md")) {
			t.Errorf("it does not say that mcpd speaks %s", v)
		}
	}
}

// Every configuration in the documents can be loaded as it is.
func TestConfigurationsInDocumentsLoad(t *testing.T) {
	env := map[string]string{
		"SEARCH_TOKEN": "x", "MCPD_ARENA_PROGRAM": "mcpd", "MCPD_ARENA_STATE": "/var/lib/mcpd/arena",
		"MCPD_ARENA_URL": "http://127.0.0.1:7422/mcp",
	}
	for _, b := range blocks(t, "yaml") {
		if b.page == experiments {
			continue
		}
		o := config.Options{File: b.page, Builtins: supervisor.Builtins,
			Env: func(name string) (string, bool) {
				v, ok := env[name]
				return v, ok
			}}
		text := withKeys(b.text)
		if _, err := config.Load([]byte(b.text), o); text != b.text && err == nil {
			t.Errorf("%s: the place of a key can be used as it is", b.page)
		}
		c, err := config.Load([]byte(text), o)
		if err != nil {
			t.Errorf("%s: %v\n%s", b.page, err, b.text)
			continue
		}
		if b.page == "README.md" && len(c.Tenants) != 2 {
			t.Errorf("%s: %d tenants, want the two that its heading names", b.page, len(c.Tenants))
		}
	}
}

// withKeys replaces each key that is left out of a configuration by a new one.
func withKeys(text string) string {
	for strings.Contains(text, `sha256: "…"`) {
		_, hash := auth.NewKey()
		text = strings.Replace(text, "…", hash.String(), 1)
	}
	return text
}

// Every experiment in the documents can be read as it is.
func TestExperimentsInDocumentsLoad(t *testing.T) {
	seen := 0
	for _, b := range blocks(t, "yaml") {
		if b.page != experiments {
			continue
		}
		seen++
		if _, err := experiment.Parse(b.page, []byte(b.text), faults.Kinds); err != nil {
			t.Errorf("%v\n%s", err, b.text)
		}
	}
	if seen == 0 {
		t.Errorf("%s has no experiment", experiments)
	}
}

// The JSON blocks for client configurations are valid JSON. mcpd can load them too, because it
// understands mcpServers.
func TestClientConfigurationsInDocuments(t *testing.T) {
	for _, b := range blocks(t, "json") {
		if !jsontext.Value(b.text).IsValid() {
			t.Errorf("%s: no JSON:\n%s", b.page, b.text)
		}
		o := config.Options{File: b.page, Env: func(string) (string, bool) { return "x", true }}
		if _, err := config.Load([]byte(b.text), o); err != nil {
			t.Errorf("%s: %v\n%s", b.page, err, b.text)
		}
	}
}

// mention is a command line of mcpd in running text or in a block of shell.
var mention = regexp.MustCompile("(?m)(?:`|^\\$ )mcpd((?: [^`\\n|>&;#]+)?)(?:`| *[|>&;#\n])")

// Every command and every flag that a document names exists.
func TestCommandsInDocumentsExist(t *testing.T) {
	seen := 0
	for _, name := range pages {
		for _, m := range mention.FindAllStringSubmatch(page(t, name), -1) {
			args := strings.Fields(m[1])
			if len(args) == 0 || strings.HasPrefix(args[0], "one_for_one") {
				continue
			}
			seen++
			cmd, rest, err := root().Find(args)
			if err == nil {
				err = cmd.ParseFlags(rest)
			}
			if err == nil && !cmd.HasParent() {
				continue // mcpd --help, for example
			}
			if err != nil || !cmd.Runnable() && !cmd.HasSubCommands() {
				t.Errorf("%s: mcpd%s: %v", name, m[1], err)
			}
		}
	}
	if seen < 10 {
		t.Errorf("only %d commands found: the pattern has grown blind", seen)
	}
}

var link = regexp.MustCompile(`\]\(([^)#:]+)\)`)

// Every link to a file of the project leads somewhere.
func TestLinksInDocuments(t *testing.T) {
	for _, name := range pages {
		for _, m := range link.FindAllStringSubmatch(page(t, name), -1) {
			if _, err := os.Stat(filepath.Join(docsRoot, filepath.Dir(name), m[1])); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// path matches a file or folder of the project in running text, such as `supervisor/tree.go`.
var path = regexp.MustCompile(
	"`((?:actors|bench|chaos|cmd|docs|gateway|internal|proto|protocol|supervisor|telemetry|transport)(?:/[\\w.\\-]+)+)/?`",
)

// Every file and folder that a hand-written document names exists.
func TestFilesInDocumentsExist(t *testing.T) {
	for _, name := range pages[:7] {
		for _, m := range path.FindAllStringSubmatch(page(t, name), -1) {
			file := filepath.Join(docsRoot, m[1])
			if _, err := os.Stat(file); err != nil && !shownBy.MatchString(m[0]) &&
				!strings.Contains(page(t, "docs/tree.gen.md"), "| `"+m[1]+"` |") {
				t.Errorf("%s names %s, which is neither a file nor a row of the tree", name, m[1])
			}
		}
	}
}

// The trees at the beginning of the README and the architecture show the real rows in their
// order.
func TestReadmeShowsTheTree(t *testing.T) {
	rows := regexp.MustCompile(`(?m)^[│├└─ ]*[├└]─ (\w+)`)
	var want []string
	for _, m := range rows.FindAllStringSubmatch(page(t, "docs/tree.gen.md"), -1) {
		switch m[1] {
		case "event_log", "S", "C", "connection", "X", "held", "K", "task", "N", "mcp":
		case "T":
			want = append(want, "acme")
		default:
			want = append(want, m[1])
		}
	}
	text := page(t, "README.md")
	_, text, _ = strings.Cut(text, "## The tree")
	var got []string
	for _, m := range rows.FindAllStringSubmatch(text, -1) {
		got = append(got, m[1])
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("README.md shows\n%v, want\n%v", got, want)
	}
}
