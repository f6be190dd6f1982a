package streamable

import (
	"errors"
	"sync/atomic"
	"testing"

	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// bounded is an account with a limit in bytes.
type bounded struct{ used, most atomic.Int64 }

func (b *bounded) Keep(n int)  { b.used.Add(int64(n)) }
func (b *bounded) Full() bool  { return b.used.Load() > b.most.Load() }
func (b *bounded) limit(n int) { b.most.Store(int64(n)) }

// Streams count for their tenant to the byte. Events beyond the limit of a tenant are dropped from
// its own sessions, and from no other tenant's.
func TestHistoriesCountForTheirTenant(t *testing.T) {
	accounts := map[string]*bounded{"acme": {}, "initech": {}}
	accounts["acme"].limit(5000)
	accounts["initech"].limit(1 << 20)
	store := NewStore(StoreOptions{Account: func(tenant string) Account { return accounts[tenant] }})
	fill := func(s *Streams) {
		o := makeStreamResponse()
		st, err := s.begin(&o)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			s.send(st, sized("a", 1000))
			taken(s, &o, 8)
		}
		s.detach(&o)
	}
	other, first, second := store.Streams("initech", "1"), store.Streams("acme",
		"2"), store.Streams("acme", "3")
	fill(other)
	fill(first)
	fill(second)
	if got := accounts["acme"].used.Load(); got > 6000 || got < 1000 {
		t.Errorf("%d bytes are kept for the tenant of 5000", got)
	}
	if got := accounts["initech"].used.Load(); got < 20_000 {
		t.Errorf("%d bytes are kept for the other tenant", got)
	}
	if got, want := store.Bytes(), accounts["acme"].used.Load()+
		accounts["initech"].used.Load(); got != want {
		t.Errorf("%d bytes in all, the accounts say %d", got, want)
	}
	for _, s := range []*Streams{other, first, second} {
		s.Close()
	}
	if a, b := accounts["acme"].used.Load(), accounts["initech"].used.Load(); a != 0 || b != 0 {
		t.Errorf("%d and %d bytes are left when all are closed", a, b)
	}
}

// If a tenant has reached its limit, one event waits for a client. A further question is rejected.
func TestOneEventWaitsForAFullTenant(t *testing.T) {
	account := &bounded{}
	s := NewStore(StoreOptions{Account: func(string) Account { return account }}).Streams("acme", "1")
	defer s.Close()
	account.limit(-1)
	for range 5 {
		if err := s.Push(sized("a", 100)); err != nil {
			t.Fatal(err)
		}
	}
	if n := s.state.standalone.waiting; n > 1 {
		t.Errorf("%d events wait", n)
	}
	if err := s.Push(jsonrpc.Request(jsonrpc.IntID(1), "ping", nil)); err != nil &&
		!errors.Is(err, transport.ErrSlowConsumer) {
		t.Error(err)
	}
}
