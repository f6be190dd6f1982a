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
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
	"mcpd/transport/pipe"
)

// serveDemo serves the built-in server in a single revision. It writes the method and name of each
// received message to notes, and the whole messages to wire.
func serveDemo(revision string, notes, wire io.Writer, in io.Reader, out io.Writer) error {
	v, _ := protocol.ParseVersion(revision)
	system := otp.NewSystem(otp.Options{})
	defer system.Close()
	ours, theirs := pipe.Pair(0)
	tree, err := system.Start(context.Background(), "demo", otp.Spec{Children: []otp.Child{{
		ID: "demo", Start: otp.Worker(func() otp.Behaviour {
			return demo.New(demo.Options{
				Conn: theirs, Build: "1", Policy: protocol.Negotiation{Floor: v, Ceiling: v},
			})
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
		name, _ := jsonedit.GetString(m.Params, "name")
		if _, err := fmt.Fprintln(notes, m.Method, name); err != nil {
			return err
		}
		if err := ours.Send(context.Background(), m); err != nil {
			return err
		}
	}
	return lines.Err()
}

// notesVariable is the environment variable with the path of the notes file of a server of the
// matrix.
const notesVariable = "INTEROP_NOTES"

// wireSuffix is the suffix of the file beside it that has the whole messages, line by line.
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

// The transports, by their names in the table.
const (
	overStdio      = "stdio"
	overStreamable = "Streamable HTTP"
	overSSE        = "HTTP+SSE"
)

var transports = []string{overStdio, overStreamable, overSSE}

// revisions returns the revisions that have a transport (§4 of the protocol matrix).
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

// allEnds returns all ends.
func allEnds() (all []end) {
	for _, over := range transports {
		for _, v := range revisions(over) {
			all = append(all, end{over, v})
		}
	}
	return all
}

// upstream is a server of the matrix, as configured in the host between client and server.
type upstream struct {
	end
	at    string // URL of the server at the host, without the transport's path
	notes string // file for the messages that the server receives
}

// received returns how many messages of a kind the server has received.
func (u upstream) received(label string) int {
	text, _ := os.ReadFile(u.notes) // the file does not exist before the first message
	return strings.Count(string(text), label+"\n")
}

// upstreams starts a host with a server of every revision, over every transport of that revision.
// Servers with another transport than stdio run behind a second host, which uses only their
// revision.
func upstreams(t *testing.T) (list []upstream) {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	notes := t.TempDir()
	var near, far strings.Builder
	for _, e := range allEnds() {
		u := upstream{
			end: e, at: strings.ToLower(strings.Trim(e.over[:5], "+")) + "-" + e.version.String(),
		}
		u.notes = filepath.Join(notes, u.at)
		list = append(list, u)
		server := fmt.Sprintf("{command: %q, env: {%s: %q, %s: %q, %s: %q}}", path, serveOne, e.version,
			notesVariable, u.notes, quickExit[0], quickExit[1])
		if e.over == overStdio {
			fmt.Fprintf(&near, "%s: %s, ", u.at, server)
		} else {
			fmt.Fprintf(&far, "  %s: {negotiation: {min_version: %s, max_version: %s}, servers: {it: %s}}\n",
				u.at, e.version, e.version, server)
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
	host := mcptest.Start(t, mcptest.HostOptions{
		Config: "tenants: {default: {servers: {" + near.String() + "}}}\n",
	})
	for i := range list {
		list[i].at = host.MCP + "/" + list[i].at
	}
	return list
}
