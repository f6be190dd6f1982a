package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"time"

	"mcpd/gateway/config"
	"mcpd/gateway/tenant"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
	"mcpd/transport/stdio"
	"mcpd/transport/streamable"
)

// lookTime is how long a host on the default address is looked for: on loopback one answers at once.
const lookTime = 200 * time.Millisecond

// hostThere reports whether something listens at the host of a URL.
func hostThere(ctx context.Context, url string) bool {
	dialer := net.Dialer{Timeout: lookTime}
	conn, err := dialer.DialContext(ctx, "tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// exists reports whether the configuration has what a route names.
func exists(tenants []config.Tenant, at tenant.Route) bool {
	for _, t := range tenants {
		if t.Name != at.Tenant {
			continue
		}
		_, ok := t.Server(at.Server)
		return ok || at.Server == ""
	}
	return false
}

// join carries the client's messages to a running host, and back.
func join(ctx context.Context, in io.Reader, out io.Writer, host string, at tenant.Route) error {
	u, err := url.Parse(host)
	if err != nil || u.Host == "" {
		return fmt.Errorf("--url %q is no URL", host)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = at.Path()
	}
	joined, end := context.WithCancelCause(ctx)
	defer end(nil)
	there := &remote{endpoint: u.String(), end: end}
	err = stdio.Serve(joined, in, out, there)
	there.close(ctx)
	if joined.Err() != nil && ctx.Err() == nil {
		return context.Cause(joined)
	}
	if err = ignoreCancel(err); err != nil {
		return &failure{exitFailure, err}
	}
	return nil
}

// remote serves a client from a host elsewhere. End ends that when the host is gone: without its session there is nothing to serve, and the
// client, who would wait for ever, can start us anew.
type remote struct {
	endpoint string
	end      context.CancelCauseFunc
	alone    *remoteSession // carries what stands alone; nil before the first
}

func (r *remote) Open(ctx context.Context, first jsonrpc.Message, out transport.Sink, push stdio.Push) (stdio.Session, error) {
	up, err := r.client()
	if err != nil {
		return nil, err
	}
	s := newRemoteSession(up, push, r.end)
	if err := s.Deliver(ctx, first, out); err != nil {
		return nil, errors.Join(err, s.Close(ctx))
	}
	return s, nil
}

// Call sends a request that stands alone. All of them share a connection, on which there is no session.
func (r *remote) Call(ctx context.Context, m jsonrpc.Message, out transport.Sink) (stdio.Peer, error) {
	class, err := protocol.Negotiation{}.Classify(protocol.Arrival{Method: m.Method, Params: m.Params})
	if err != nil {
		return nil, err
	}
	if r.alone == nil {
		up, err := r.client()
		if err != nil {
			return nil, err
		}
		r.alone = newRemotePeer(up, class.Version, r.end)
	}
	return r.alone, r.alone.Deliver(ctx, m, out)
}

func (r *remote) client() (*streamable.Client, error) {
	return streamable.NewClient(streamable.ClientOptions{URL: r.endpoint, Header: credentials()})
}

// close leaves the host. Whatever is said about that, the client has gone.
func (r *remote) close(ctx context.Context) {
	if r.alone == nil {
		return
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
	defer cancel()
	_ = r.alone.Close(closing)
}

// leaveTime bounds the end of what is still on its way to a host when the client has gone.
const leaveTime = 2 * time.Second
