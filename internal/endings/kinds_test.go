package endings

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

// The revisions that clients request, one of each era.
const (
	legacy = "2025-11-25"
	modern = "2026-07-28"
)

// The transports to the host.
const (
	overHTTP  = "Streamable HTTP"
	overSSE   = "HTTP+SSE"
	overStdio = "`mcpd stdio`"
)

// kind describes clients that reach the host in one way. Generation is the major version of the
// TypeScript SDK; empty means the Go SDK.
type kind struct {
	generation, over, revision string
	// cannotContinue says why such a client cannot continue, whatever the host does. Empty means that
	// it can.
	cannotContinue string
}

var kinds = []kind{
	{over: overHTTP, revision: legacy},
	{over: overHTTP, revision: modern},
	{over: overSSE, revision: legacy,
		cannotContinue: "this SDK's client never opens its stream again, whatever the host does"},
	{over: overStdio, revision: legacy},
	{over: overStdio, revision: modern},
	{generation: "1", over: overHTTP, revision: legacy},
	{generation: "1", over: overSSE, revision: legacy},
	{generation: "1", over: overStdio, revision: legacy},
	{generation: "2", over: overHTTP, revision: modern},
	{generation: "2", over: overSSE, revision: legacy},
	{generation: "2", over: overStdio, revision: modern},
}

func (k kind) String() string {
	sdk := "Go"
	if k.generation != "" {
		sdk = "TypeScript " + k.generation
	}
	return sdk + ", " + k.over + ", " + k.revision
}

// session is an open session of an SDK client.
type session interface {
	// call returns the text of the result.
	call(tool string, arguments map[string]any) (string, error)
	close()
}

// opener opens sessions with a host.
type opener struct {
	t     *testing.T
	url   string
	ca    string                   // file of the trusted authority; empty without TLS
	nodes map[string]*mcptest.Node // by client kind or SDK generation
}

func newOpener(t *testing.T, s *site) *opener {
	t.Helper()
	return &opener{t: t, url: s.url(), ca: s.ca, nodes: map[string]*mcptest.Node{}}
}

// open opens a session of the given kind.
func (o *opener) open(k kind, name string) (session, error) {
	o.t.Helper()
	if k.generation == "" {
		return o.goSession(k)
	}
	return o.nodeSession(k, name)
}

// bridge returns the command with which a client runs `mcpd stdio`.
func (o *opener) bridge() *exec.Cmd {
	o.t.Helper()
	command := exec.Command(mcptest.Mcpd(o.t), "stdio", "--url", o.url)
	command.Dir = o.t.TempDir()
	command.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + command.Dir, "XDG_CONFIG_HOME=" + command.Dir,
		"XDG_STATE_HOME=" + command.Dir,
	}
	if o.ca != "" {
		command.Env = append(command.Env, "SSL_CERT_FILE="+o.ca)
	}
	return command
}

// callTime is the time-out of a call, above the duration of every event. An HTTP+SSE client gets no
// sign that the host which accepted its call was killed, so it notices only by this time-out. The
// host tells such a client to reopen its stream within about 5 s, and the stream then delivers the
// answers.
func (k kind) callTime() time.Duration {
	if k.over == overSSE {
		return 10 * time.Second
	}
	return 30 * time.Second
}
