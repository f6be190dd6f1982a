package interop

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"

	"mcpd/actors/demo"
	"mcpd/internal/mcptest"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/splice"
	"mcpd/supervisor/otp"
	"mcpd/transport/pipe"
)

//go:generate go test -run ^TestEveryRevisionToEveryRevision$ . -update

var update = flag.Bool("update", false, "rewrite docs/compatibility.gen.md")

const compatDoc = "../../docs/compatibility.gen.md"

// serveDemo serves the built-in server in one revision alone.
func serveDemo(revision string, in io.Reader, out io.Writer) error {
	v, _ := protocol.ParseVersion(revision)
	system := otp.NewSystem(otp.Options{})
	defer system.Close()
	ours, theirs := pipe.Pair(0)
	tree, err := system.Start(context.Background(), "demo", otp.Spec{Children: []otp.Child{{
		ID: "demo", Start: otp.Worker(func() otp.Behaviour {
			return demo.New(demo.Options{Conn: theirs, Build: "1", Policy: protocol.Negotiation{Floor: v, Ceiling: v}})
		}),
	}}})
	if err != nil {
		return err
	}
	defer func() { _ = tree.Shutdown(context.Background()) }()
	go func() { // ends with the process
		for {
			got, err := ours.Recv(context.Background())
			if err != nil {
				return
			}
			if got.Control == nil {
				fmt.Fprintf(out, "%s\n", got.Message.Append(nil))
			}
		}
	}()
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		m, err := jsonrpc.Decode(lines.Bytes(), jsonrpc.Limits{})
		if err != nil {
			return err
		}
		if err := ours.Send(context.Background(), m); err != nil {
			return err
		}
	}
	return lines.Err()
}

// feature is a row of the matrix: what a client does, and which pairs cannot carry it, with what is answered instead.
type feature struct {
	name string
	// lacks says why a pair cannot carry it; "" when it can.
	lacks func(client, server protocol.Version) string
	// works does it, and says what is wrong.
	works func(c *compat, server protocol.Version) string
}

func always(protocol.Version, protocol.Version) string { return "" }

// asks is a tool that asks the client something, and what its answer must hold.
func asks(tool, arguments, want string) func(*compat, protocol.Version) string {
	return func(c *compat, _ protocol.Version) string {
		answer, _ := c.call(tool, arguments)
		return holds(answer, want)
	}
}

func holds(m jsonrpc.Message, want string) string {
	if text := string(m.Append(nil)); m.Error != nil || !strings.Contains(text, want) {
		return text
	}
	return ""
}

const watched = "test://watched-resource"

var compatFeatures = []feature{
	{"call a tool", always, asks("echo", `{"message":"hello"}`, `"hello"`)},
	{"lists, resources, prompts", always, func(c *compat, _ protocol.Version) string {
		for _, step := range [][3]string{
			{"tools/list", `{}`, `"echo"`},
			{"prompts/get", `{"name":"test_simple_prompt"}`, `"messages"`},
			{"resources/read", `{"uri":"test://static-text"}`, `static text`},
			{"resources/templates/list", `{}`, `test://template`},
		} {
			answer, _ := c.exchange(step[0], step[1], nil)
			if wrong := holds(answer, step[2]); wrong != "" {
				return wrong
			}
		}
		return ""
	}},
	{"structured results", func(client, server protocol.Version) string {
		if !client.Has(protocol.StructuredContent) || !server.Has(protocol.StructuredContent) {
			return "the text says the same"
		}
		return ""
	}, asks("time", `{}`, `"structuredContent"`)},
	{"progress", always, func(c *compat, _ protocol.Version) string {
		answer, heard := c.call("test_tool_with_progress", `{}`)
		return count(answer, heard, "notifications/progress", 3)
	}},
	{"log lines of a call", always, func(c *compat, _ protocol.Version) string {
		if c.version.Has(protocol.SetLevel) {
			c.exchange("logging/setLevel", `{"level":"info"}`, nil)
		}
		answer, heard := c.call("test_tool_with_logging", `{}`)
		return count(answer, heard, "notifications/message", 3)
	}},
	{"completion", func(client, server protocol.Version) string {
		if client.Has(protocol.CompletionsCapability) && !server.Has(protocol.CompletionsCapability) {
			return "it needs a capability that the server's revision has no word for, so it is not offered: -32601"
		}
		return ""
	}, func(c *compat, _ protocol.Version) string {
		answer, _ := c.exchange("completion/complete",
			`{"ref":{"type":"ref/prompt","name":"test_prompt_with_arguments"},"argument":{"name":"arg1","value":"pari"}}`, nil)
		return holds(answer, `"paris"`)
	}},
	{"list changes", always, func(c *compat, _ protocol.Version) string {
		c.listen(watched)
		c.call("test_trigger_tool_change", `{}`)
		if !c.told("notifications/tools/list_changed") {
			return "nothing is told"
		}
		return ""
	}},
	{"resource updates", always, func(c *compat, _ protocol.Version) string {
		c.listen(watched)
		c.call("touch_watched_resource", `{}`)
		if !c.told("notifications/resources/updated") {
			return "nothing is told"
		}
		return ""
	}},
	{"elicitation", func(client, server protocol.Version) string {
		if !client.Has(protocol.Elicitation) || !server.Has(protocol.Elicitation) {
			return "not declared, so the tool says what it lacks"
		}
		return ""
	}, asks("test_elicitation", `{"message":"who?"}`, "a@b.c")},
	{"sampling", always, asks("test_sampling", `{"prompt":"six by seven"}`, "forty-two")},
	{"roots", always, asks("test_input_required_result_list_roots", `{}`, "")},
	{"resource not found", always, func(c *compat, _ protocol.Version) string {
		answer, _ := c.exchange("resources/read", `{"uri":"test://nowhere"}`, nil)
		want := int64(protocol.CodeResourceNotFound)
		if !c.version.Has(protocol.ResourceNotFoundCode) {
			want = jsonrpc.CodeInvalidParams
		}
		if answer.Error == nil || answer.Error.Code != want {
			return string(answer.Append(nil))
		}
		return ""
	}},
}

func count(answer jsonrpc.Message, heard []jsonrpc.Message, method string, want int) string {
	n := 0
	for _, m := range heard {
		if m.Method == method {
			n++
		}
	}
	if failed, _ := splice.Get(answer.Result, "isError"); answer.Error != nil || failed.Kind() == 't' || n < want {
		return fmt.Sprintf("%d of %d, then %s", n, want, answer.Append(nil))
	}
	return ""
}

// Every revision to every revision: each feature works between each pair of client and server, or the table says why it cannot. The table
// is the documentation.
func TestEveryRevisionToEveryRevision(t *testing.T) {
	versions := protocol.Versions()
	var config strings.Builder
	config.WriteString("tenants: {default: {servers: {")
	for _, v := range versions {
		fmt.Fprintf(&config, "%s: %s, ", compatServer(v), self(t, serveOne, v.String()))
	}
	config.WriteString("}}}\n")
	host := mcptest.Start(t, mcptest.HostOptions{Config: config.String()})
	var mu sync.Mutex
	cells := map[[2]protocol.Version][]string{}
	t.Run("pairs", func(t *testing.T) {
		for _, up := range versions {
			t.Run("server "+up.String(), func(t *testing.T) {
				t.Parallel()
				for _, down := range versions {
					t.Run("client "+down.String(), func(t *testing.T) {
						var row []string
						for _, f := range compatFeatures {
							row = append(row, cell(t, host.MCP+"/"+compatServer(up)+"/mcp", f, down, up))
						}
						mu.Lock()
						cells[[2]protocol.Version{down, up}] = row
						mu.Unlock()
					})
				}
			})
		}
	})
	if t.Failed() {
		return
	}
	text := compatTable(versions, cells)
	if *update {
		if err := os.WriteFile(compatDoc, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(compatDoc); err != nil || string(have) != text {
		t.Errorf("%s is not current (%v): run go generate ./internal/interop", compatDoc, err)
	}
}

func compatServer(v protocol.Version) string { return "r" + v.String() }

// cell tries one feature between one pair.
func cell(t *testing.T, url string, f feature, down, up protocol.Version) string {
	t.Helper()
	why := f.lacks(down, up)
	wrong := f.works(compatible(t, url, down), up)
	switch {
	case why == "" && wrong != "":
		t.Errorf("%s: %.600s", f.name, wrong)
		return "fails"
	case why != "" && wrong == "":
		t.Errorf("%s: works, although %s", f.name, why)
	case why != "":
		return why
	}
	return "yes"
}

func compatTable(versions []protocol.Version, cells map[[2]protocol.Version][]string) string {
	var b strings.Builder
	b.WriteString("<!-- Written by go generate ./internal/interop from what its test saw. Do not edit. -->\n\n# Compatibility\n\n" +
		"Each feature was used by a client of each revision (rows), through mcpd, at a server of each revision (columns). The clients speak\n" +
		"Streamable HTTP, the servers stdio. A number points to what is answered where a pair cannot carry a feature.\n")
	for i, f := range compatFeatures {
		var notes []string
		fmt.Fprintf(&b, "\n## %s\n\n| client \\ server |", strings.ToUpper(f.name[:1])+f.name[1:])
		for _, up := range versions {
			fmt.Fprintf(&b, " %s |", up)
		}
		b.WriteString("\n|---|" + strings.Repeat("---|", len(versions)) + "\n")
		for _, down := range versions {
			fmt.Fprintf(&b, "| %s |", down)
			for _, up := range versions {
				said := cells[[2]protocol.Version{down, up}][i]
				if said != "yes" {
					n := 0
					for n < len(notes) && notes[n] != said {
						n++
					}
					if n == len(notes) {
						notes = append(notes, said)
					}
					said = fmt.Sprintf("no (%d)", n+1)
				}
				fmt.Fprintf(&b, " %s |", said)
			}
			b.WriteString("\n")
		}
		for n, note := range notes {
			fmt.Fprintf(&b, "\n%d. %s.\n", n+1, strings.ToUpper(note[:1])+note[1:])
		}
	}
	return b.String()
}
