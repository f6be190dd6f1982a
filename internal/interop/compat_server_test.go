package interop

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcpd/actors/demo"
	"mcpd/internal/mcptest"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/splice"
	"mcpd/supervisor/otp"
	"mcpd/transport/pipe"
)

// serveDemo serves the built-in server in one revision alone, and notes the methods that it is sent, and all of it.
func serveDemo(revision string, notes, wire io.Writer, in io.Reader, out io.Writer) error {
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
		if _, err := fmt.Fprintf(wire, "%s\n", lines.Bytes()); err != nil {
			return err
		}
		name, _ := splice.GetString(m.Params, "name")
		if _, err := fmt.Fprintln(notes, m.Method, name); err != nil {
			return err
		}
		if err := ours.Send(context.Background(), m); err != nil {
			return err
		}
	}
	return lines.Err()
}

// notesVariable is where a server of the matrix notes what it is sent.
const notesVariable = "INTEROP_NOTES"

// wireSuffix names the file beside it with everything, line by line.
const wireSuffix = ".wire"

// serveNoting is serveDemo on standard input and output.
func serveNoting(revision string) error {
	notes, err := os.OpenFile(os.Getenv(notesVariable), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer notes.Close()
	wire, err := os.OpenFile(notes.Name()+wireSuffix, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer wire.Close()
	return serveDemo(revision, notes, wire, os.Stdin, os.Stdout)
}

// end is one side of a pair: a revision over a transport.
type end struct {
	over    string
	version protocol.Version
}

func (e end) String() string { return e.version.String() + " over " + e.over }

// The transports, in the words of the table.
const (
	overStdio      = "stdio"
	overStreamable = "Streamable HTTP"
	overSSE        = "HTTP+SSE"
)

var overs = []string{overStdio, overStreamable, overSSE}

// revisions are those that have a transport (§4 of the protocol matrix).
func revisions(over string) []protocol.Version {
	all := protocol.Versions()
	switch over {
	case overStreamable:
		return all[1:]
	case overSSE:
		return all[:1]
	}
	return all
}

// ends are all ends there are.
func ends() (all []end) {
	for _, over := range overs {
		for _, v := range revisions(over) {
			all = append(all, end{over, v})
		}
	}
	return all
}

// upstream is a server of the matrix, as the host between knows it.
type upstream struct {
	end
	at    string // its endpoint of the host, up to the transport
	notes string // the file in which it notes what it is sent
}

// noted is how many messages of a kind the server was sent.
func (u upstream) noted(what string) int {
	text, _ := os.ReadFile(u.notes) // there is none before the first
	return strings.Count(string(text), what+"\n")
}

// upstreams starts a host, and behind it a server of every revision over every transport that the revision has. Those that do not speak stdio are behind
// a second host, which speaks their revision only.
func upstreams(t *testing.T) (list []upstream) {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	notes := t.TempDir()
	var near, far strings.Builder
	for _, e := range ends() {
		u := upstream{end: e, at: strings.ToLower(strings.Trim(e.over[:5], "+")) + "-" + e.version.String()}
		u.notes = filepath.Join(notes, u.at)
		list = append(list, u)
		server := fmt.Sprintf("{command: %q, env: {%s: %q, %s: %q, %s: %q}}", path, serveOne, e.version, notesVariable, u.notes, quickExit[0], quickExit[1])
		if e.over == overStdio {
			fmt.Fprintf(&near, "%s: %s, ", u.at, server)
		} else {
			fmt.Fprintf(&far, "  %s: {negotiation: {min_version: %s, max_version: %s}, servers: {it: %s}}\n", u.at, e.version, e.version, server)
		}
	}
	behind := mcptest.Start(t, mcptest.HostOptions{Config: "tenants:\n" + far.String()})
	for _, u := range list {
		switch u.over {
		case overStreamable:
			fmt.Fprintf(&near, "%s: {url: %q}, ", u.at, behind.MCP+"/t/"+u.at+"/it/mcp")
		case overSSE:
			fmt.Fprintf(&near, "%s: {url: %q, transport: sse}, ", u.at, behind.MCP+"/t/"+u.at+"/it/sse")
		}
	}
	host := mcptest.Start(t, mcptest.HostOptions{Config: "tenants: {default: {servers: {" + near.String() + "}}}\n"})
	for i := range list {
		list[i].at = host.MCP + "/" + list[i].at
	}
	return list
}
