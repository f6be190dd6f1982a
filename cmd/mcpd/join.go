package main

import (
	"cmp"
	"context"
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
	"mcpd/protocol/reconnect"
	"mcpd/transport"
	"mcpd/transport/stdio"
)

// probeTimeout bounds the search for a host on the default address. On loopback a host answers at
// once.
const probeTimeout = 200 * time.Millisecond

// hostThere reports whether something listens at the host of a URL.
func hostThere(ctx context.Context, url string) bool {
	dialer := net.Dialer{Timeout: probeTimeout}
	conn, err := dialer.DialContext(ctx, "tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// hasRoute reports whether the configuration has the tenant and the server that a route names.
func hasRoute(tenants []config.Tenant, at tenant.Route) bool {
	for _, t := range tenants {
		if t.Name != at.Tenant {
			continue
		}
		_, ok := t.Server(at.Server)
		return ok || at.Server == ""
	}
	return false
}

// join carries messages between the client and a host that runs elsewhere, until the client
// leaves. The host may stop and come back in the meantime.
func join(ctx context.Context, in io.Reader, out, log io.Writer, host string,
	at tenant.Route) error {
	u, err := url.Parse(host)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("--url %q is not an http or https URL", host)
	}
	if _, err := credentials(); err != nil {
		return err
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = at.Path()
	}
	queue := newLogQueue(log)
	defer queue.close()
	there := &remote{endpoint: u.String(), log: queue}
	err = ignoreCancel(stdio.Serve(ctx, in, out, there))
	there.close(ctx)
	if err != nil {
		return &failure{exitFailure, err}
	}
	return there.whyUnserved()
}

// remote serves a client from a host elsewhere, with one bridge for its session and one for its
// stateless requests.
type remote struct {
	endpoint string
	// Writes never block: bridges write to it with their mutex held.
	log io.Writer
	// session is the session that was opened last; nil before the first.
	session *bridge
	// stateless is nil before the first stateless request.
	stateless *bridge
}

func (r *remote) Open(
	ctx context.Context, first jsonrpc.Message, out transport.Sink, push stdio.Push,
) (stdio.Session, error) {
	b, err := newBridge(r.endpoint, r.log, reconnect.New(), push)
	if err != nil {
		return nil, err
	}
	r.session = b
	return b, b.Deliver(ctx, first, out)
}

// Call sends a stateless request.
func (r *remote) Call(
	ctx context.Context, m jsonrpc.Message, out transport.Sink,
) (stdio.Peer, error) {
	arrival := protocol.Incoming{Method: m.Method, Params: m.Params}
	class, err := protocol.Negotiation{}.Classify(arrival)
	if err != nil {
		return nil, err
	}
	if r.stateless == nil {
		if r.stateless, err = newStatelessBridge(r.endpoint, r.log, class.Version); err != nil {
			return nil, err
		}
	}
	return r.stateless, r.stateless.Deliver(ctx, m, out)
}

// Gone makes requests that wait for an unreachable host fail at once, because the client will
// send nothing more.
func (r *remote) Gone() {
	for _, b := range []*bridge{r.session, r.stateless} {
		if b != nil {
			b.step(reconnect.Event{Op: reconnect.ClientGone})
		}
	}
}

// close ends the connections of stateless requests. Errors are ignored, because the client has
// gone.
func (r *remote) close(ctx context.Context) {
	if r.stateless == nil {
		return
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	_ = r.stateless.Close(closing)
}

// whyUnserved returns the reason why the client was never served, or nil if it was.
func (r *remote) whyUnserved() (err error) {
	for _, b := range []*bridge{r.session, r.stateless} {
		if b == nil {
			continue
		}
		served, cause := b.served()
		if served {
			return nil
		}
		err = cmp.Or(err, cause)
	}
	return err
}

// closeTimeout bounds how long messages may still travel to a host after the client has gone.
const closeTimeout = 2 * time.Second
