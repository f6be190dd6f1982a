package conformance

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpd/gateway/config"
	"mcpd/supervisor"
	"mcpd/transport/streamable"
)

// clientDone is the whole standard output of a client under test that completed its scenario.
const clientDone = "done\n"

// downstreamVariable is the environment variable with the revision between the SDK's client and
// mcpd.
const downstreamVariable = "MCPD_CONFORMANCE_DOWNSTREAM"

// clientRevisions are the values of that variable: one revision of each era.
var clientRevisions = []string{"2025-11-25", "2026-07-28"}

// scenarioTimeout bounds one scenario. The suite itself allows thirty seconds.
const scenarioTimeout = 20 * time.Second

// clientRuns returns the runs of the two scenario sets for clients, one group for each set. The
// client under test is this test binary. It runs mcpd between the suite's server and the official
// SDK's client, which speaks to mcpd in either era.
func clientRuns(t *testing.T) (groups [][]*run) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []set{legacyClient, modernClient} {
		var group []*run
		for _, v := range clientRevisions {
			group = append(group, &run{
				set: s, name: "for " + v, args: []string{"--command", self},
				env: []string{downstreamVariable + "=" + v},
			})
		}
		groups = append(groups, group)
	}
	return groups
}

// runClient is the program that the suite starts as a client. It performs the steps of the scenario
// with the server at the URL and returns the exit code.
func runClient(scenario, url string) int {
	steps, ok := clientSteps[scenario]
	if !ok {
		fmt.Fprintf(os.Stderr, "scenario %s is not played\n", scenario)
		return 1
	}
	ctx, cancel := context.WithTimeout(context.Background(), scenarioTimeout)
	defer cancel()
	if err := runThroughHost(ctx, url, steps); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Print(clientDone)
	return 0
}

// runThroughHost starts a host in front of the server at the URL and runs the steps with a session
// of that host.
func runThroughHost(ctx context.Context, url string,
	steps func(context.Context, *mcp.ClientSession) error) (err error) {
	dir, err := os.MkdirTemp("", "conformance-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "mcpd.yaml")
	if err := os.WriteFile(file,
		fmt.Appendf(nil, "tenants: {default: {servers: {up: {url: %q}}}}\n", url), 0o600); err != nil {
		return err
	}
	c, err := config.Read(file, config.Options{Builtins: supervisor.Builtins})
	if err != nil {
		return err
	}
	host, err := supervisor.Start(ctx, c, supervisor.Options{
		Embedded: true, Source: file, Build: supervisor.Build{Version: "1"},
	})
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- host.Run(running) }()
	listener := httptest.NewServer(streamable.NewHandler(streamable.Options{Host: host.Edge()}))
	defer func() {
		listener.CloseClientConnections()
		listener.Close()
		stop()
		err = errors.Join(err, <-ended)
	}()
	client := mcp.NewClient(&mcp.Implementation{Name: "conformance", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: accept,
	})
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: listener.URL + "/up/mcp",
	},
		&mcp.ClientSessionOptions{ProtocolVersion: os.Getenv(downstreamVariable)})
	if err != nil {
		return err
	}
	return errors.Join(steps(ctx, session), session.Close())
}

// accept accepts every elicitation. The SDK fills in the properties that have a default.
func accept(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	content := map[string]any{}
	if schema, ok := r.Params.RequestedSchema.(map[string]any); ok {
		if properties, ok := schema["properties"].(map[string]any); ok && properties["confirmed"] != nil {
			content["confirmed"] = true
		}
	}
	return &mcp.ElicitResult{Action: "accept", Content: content}, nil
}
