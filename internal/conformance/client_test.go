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

// clientDone is what the client under test says, and all that it says, when it has done what the scenario wants.
const clientDone = "done\n"

// downstream is the variable with the revision in which the scenario's steps reach mcpd.
const downstream = "MCPD_CONFORMANCE_DOWNSTREAM"

// downstreams are the revisions in which they do.
var downstreams = []string{"2025-11-25", "2026-07-28"}

// playTime bounds a scenario. The suite gives thirty seconds.
const playTime = 20 * time.Second

// clientRuns are those of the two sets for clients. The client under test is this binary, which is mcpd with the suite's server behind it
// and the official SDK's client before it, in either era.
func clientRuns(t *testing.T) (groups [][]*run) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []set{legacyClient, modernClient} {
		var group []*run
		for _, v := range downstreams {
			group = append(group, &run{set: s, name: "for " + v, args: []string{"--command", self}, env: []string{downstream + "=" + v}})
		}
		groups = append(groups, group)
	}
	return groups
}

// play is the program that the suite starts as a client: it does what the scenario wants of the server at the URL, and returns its exit
// code.
func play(scenario, url string) int {
	steps, ok := plays[scenario]
	if !ok {
		fmt.Fprintf(os.Stderr, "scenario %s is not played\n", scenario)
		return 1
	}
	ctx, cancel := context.WithTimeout(context.Background(), playTime)
	defer cancel()
	if err := through(ctx, url, steps); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Print(clientDone)
	return 0
}

// through runs a host with the server at the URL, and the steps with a session of it.
func through(ctx context.Context, url string, steps func(context.Context, *mcp.ClientSession) error) (err error) {
	dir, err := os.MkdirTemp("", "conformance-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "mcpd.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, "tenants: {default: {servers: {up: {url: %q}}}}\n", url), 0o600); err != nil {
		return err
	}
	c, err := config.Read(file, config.Options{Builtins: supervisor.Builtins})
	if err != nil {
		return err
	}
	host, err := supervisor.Start(ctx, c, supervisor.Options{Embedded: true, Source: file, Build: supervisor.Build{Version: "1"}})
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
	client := mcp.NewClient(&mcp.Implementation{Name: "conformance", Version: "1"}, &mcp.ClientOptions{ElicitationHandler: accept})
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: listener.URL + "/up/mcp"},
		&mcp.ClientSessionOptions{ProtocolVersion: os.Getenv(downstream)})
	if err != nil {
		return err
	}
	return errors.Join(steps(ctx, session), session.Close())
}

// accept answers whatever a user is asked. The SDK fills in what has a default.
func accept(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	content := map[string]any{}
	if schema, ok := r.Params.RequestedSchema.(map[string]any); ok {
		if properties, ok := schema["properties"].(map[string]any); ok && properties["confirmed"] != nil {
			content["confirmed"] = true
		}
	}
	return &mcp.ElicitResult{Action: "accept", Content: content}, nil
}
