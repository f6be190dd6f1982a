package demo

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/splice"
	"mcpd/supervisor/otp"
	"mcpd/transport"
	"mcpd/transport/pipe"
	"mcpd/transport/streamable"
)

type zhost struct {
	sys  *otp.System
	tree *otp.Tree
	st   *streamable.Store
	mu   sync.Mutex
	ss   map[string]*zsess
	n    int
}
type zsess struct {
	h    *zhost
	id   string
	v    protocol.Version
	str  *streamable.Streams
	c    pipe.Client
	mu   sync.Mutex
	outs map[jsonrpc.ID]transport.Sink
}

func (h *zhost) Route(*http.Request) (streamable.Endpoint, *protocol.Error) { return streamable.Endpoint{Tenant: "d"}, nil }
func (h *zhost) Open(_ context.Context, _ streamable.Endpoint, m jsonrpc.Message, out transport.Sink) (streamable.Session, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.n++
	c, s := pipe.Pair(0)
	id := fmt.Sprintf("s%d", h.n)
	if _, err := otp.StartChildArgs(context.Background(), h.tree.Ref(), id, s); err != nil {
		return nil, err
	}
	v, _ := splice.GetString(m.Params, "protocolVersion")
	ver, ok := protocol.ParseVersion(v)
	if !ok { ver = protocol.LatestLegacy }
	z := &zsess{h: h, id: id, v: ver, str: h.st.Streams(), c: c, outs: map[jsonrpc.ID]transport.Sink{}}
	h.ss[id] = z
	go z.pump()
	return z, z.Deliver(nil, m, out)
}
func (z *zsess) pump() {
	for {
		in, err := z.c.Recv(context.Background())
		if err != nil { return }
		z.mu.Lock()
		out := z.outs[in.Related]
		z.mu.Unlock()
		switch {
		case in.Control != nil:
			out.(streamable.Reconnector).CloseStream(in.Control.(transport.CloseStream).Retry)
		case in.Message.Method == "":
			z.mu.Lock()
			delete(z.outs, in.Related)
			z.mu.Unlock()
			out.Finish(in.Message)
		case out != nil:
			out.Send(in.Message)
		default:
			z.str.Push(in.Message)
		}
	}
}
func (h *zhost) Lookup(_ context.Context, _ streamable.Endpoint, id string) (streamable.Session, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := h.ss[id]; s != nil { return s, nil }
	return nil, streamable.ErrNoSession
}
func (z *zsess) ID() string { return z.id }
func (z *zsess) Version() protocol.Version { return z.v }
func (z *zsess) Streams() *streamable.Streams { return z.str }
func (z *zsess) Touch() {}
func (z *zsess) Deliver(_ context.Context, m jsonrpc.Message, out transport.Sink) error {
	if out != nil {
		z.mu.Lock()
		z.outs[m.ID] = out
		z.mu.Unlock()
	}
	return z.c.Send(context.Background(), m)
}
func (z *zsess) Close(context.Context) error {
	z.h.mu.Lock()
	delete(z.h.ss, z.id)
	z.h.mu.Unlock()
	z.str.Close()
	return z.c.Close(context.Background())
}

func TestZZ(t *testing.T) {
	sys := otp.NewSystem(otp.Options{})
	tree, err := sys.Start(t.Context(), "d", otp.Spec{Strategy: otp.SimpleOneForOne, Children: []otp.Child{{Restart: otp.Temporary, Start: otp.WorkerWith(func(a any) otp.Behaviour { return New(Options{Conn: a.(pipe.Server), Build: "1"}) })}}})
	if err != nil { t.Fatal(err) }
	h := &zhost{sys: sys, tree: tree, st: streamable.NewStore(streamable.StoreOptions{}), ss: map[string]*zsess{}}
	l, _ := net.Listen("tcp", "127.0.0.1:18803")
	go http.Serve(l, streamable.NewHandler(streamable.Options{Host: h}))
	d, _ := time.ParseDuration(os.Getenv("ZZ"))
	time.Sleep(d)
}
