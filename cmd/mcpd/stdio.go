package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"mcpd/actors/session"
	"mcpd/gateway/auth"
	"mcpd/gateway/config"
	"mcpd/gateway/tenant"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/reconnect"
	"mcpd/supervisor"
	"mcpd/transport"
	"mcpd/transport/stdio"
	"mcpd/transport/streamable"
)

func stdioCommand() *cobra.Command {
	var url, file string
	var at tenant.Route
	cmd := &cobra.Command{
		Use: "stdio", Short: "Serve one client on standard input and output", Args: cobra.NoArgs,
		Long: "Serve one client that speaks only stdio, on standard input and output.\n\n" +
			"With --url, with $MCPD_URL, or if a host listens on " +
			defaultURL + ", it\n" +
			"joins that host with the key in $MCPD_KEY. Otherwise, and always with --config,\n" +
			"it runs a host of its own, without listeners and with its state in memory. That\n" +
			"host uses the configuration that `mcpd serve` would use, except that it reads a\n" +
			"file in the working directory only if --config names it.\n\n" +
			"A host that was joined may be killed and started again. Requests in flight then\n" +
			"fail with the reason, later requests wait for the host for up to " + reconnect.Wait.String() +
			", and the\n" +
			"session is opened again with its subscriptions.",
		Example: "  mcpd stdio\n  mcpd stdio --url http://127.0.0.1:7420 --tenant acme\n  mcpd stdio " +
			"--config /etc/mcpd/mcpd.yaml --server files",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !tenant.ValidName(at.Tenant) || at.Server != "" && !tenant.ValidServer(at.Server) {
				return fmt.Errorf("--tenant %q and --server %q do not name an endpoint", at.Tenant, at.Server)
			}
			in, out := cmd.InOrStdin(), cmd.OutOrStdout()
			if url == "" && file == "" {
				url = os.Getenv("MCPD_URL")
			}
			if url != "" || file == "" && hostThere(cmd.Context(), defaultURL) {
				if url == "" {
					url = defaultURL
				}
				return join(cmd.Context(), in, out, cmd.ErrOrStderr(), url, at)
			}
			return embed(cmd.Context(), in, out, file, at)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&url, "url", "",
		"URL of the host to join, such as http://127.0.0.1:7420, or of one of its endpoints")
	flags.StringVar(&at.Tenant, "tenant", tenant.Default, "tenant to join")
	flags.StringVar(&at.Server, "server", "",
		"serve only this server (default all servers of the tenant)")
	flags.StringVar(&file, "config", "",
		"run a host with this configuration, even if another host runs")
	cmd.MarkFlagsMutuallyExclusive("url", "config")
	return cmd
}

// embed runs a host for this client alone.
func embed(ctx context.Context, in io.Reader, out io.Writer, file string, at tenant.Route) error {
	c, source, err := loadWhere(isAbsoluteFile, file, nil, config.Default)
	if err != nil {
		return err
	}
	if !hasRoute(c.Tenants, at) {
		return &failure{
			exitConfig, fmt.Errorf("%s has no tenant %q with a server %q", source, at.Tenant, at.Server),
		}
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	host, err := supervisor.Start(ctx, c, supervisor.Options{
		Logger: warningLogger(), Build: build(), Embedded: true, Source: source, Instance: instance(""),
		Contention: supervisor.Contention(),
	})
	if err != nil {
		return &failure{exitFailure, err}
	}
	ended := make(chan error, 1)
	go func() { ended <- host.Run(running) }()
	served := stdio.Serve(ctx, in, out, local{
		host.Edge(), streamable.Endpoint{Tenant: at.Tenant, Server: at.Server, Principal: auth.Anonymous},
	})
	stop()
	if err := errors.Join(ignoreCancel(served), <-ended); err != nil {
		return &failure{exitFailure, err}
	}
	return nil
}

// isAbsoluteFile reports whether a file exists whose path does not depend on the working directory.
// An editor starts `mcpd stdio` in the project that is open. A configuration there belongs to a
// third party, and would name programs to run.
func isAbsoluteFile(path string) bool { return filepath.IsAbs(path) && fileExists(path) }

// warningLogger returns a logger for warnings only, because standard error belongs to the client's
// log.
func warningLogger() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

func ignoreCancel(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// local serves a client from the host in this process.
type local struct {
	edge *supervisor.Edge
	at   streamable.Endpoint
}

func (l local) Open(ctx context.Context, first jsonrpc.Message, out transport.Sink,
	push stdio.Push) (stdio.Session, error) {
	return l.edge.OpenPushed(ctx, l.at, first, out, push)
}

func (l local) Call(ctx context.Context, m jsonrpc.Message,
	out transport.Sink) (stdio.Peer, error) {
	class, err := l.edge.Policy(l.at).Classify(protocol.Incoming{Method: m.Method, Params: m.Params})
	if err == nil {
		err = protocol.CheckMeta(m.Params)
	}
	if err != nil {
		return nil, err
	}
	peer, err := l.edge.Peer(ctx, l.at, class)
	if err != nil {
		return nil, err
	}
	return peer, peer.Call(ctx, m, nil, out)
}

// Gone does nothing, because the host is in this process.
func (l local) Gone() {}

var _ stdio.Session = (*session.Handle)(nil)
