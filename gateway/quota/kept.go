package quota

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Kind is a kind of bytes that a tenant keeps: messages in progress, and data that outlives them.
type Kind uint8

// The kinds.
const (
	Requests      Kind = iota // requests in flight, and those that wait for their server
	HeldCalls                 // questions and results of calls whose client has to come back
	Tasks                     // requests and results of tasks
	Histories                 // events that wait for a client or are kept for its return
	Answers                   // large answers that no client has read yet
	Lists                     // lists of servers
	ClientLists               // those lists as clients see them
	References                // URIs that servers have given to clients beside their lists
	Notifications             // notifications that are not dispatched yet
	Outgoing                  // messages that wait for a server to take them
	Sessions                  // sessions, clients without a session, and data about them
	PendingWrites             // changes of the state that are not on the disk yet
	Subscriptions             // subscriptions of connections to servers, kept to restore them
	Questions                 // questions and log lines of servers that wait for the first session
	// subscriptions and log levels at servers that do not run, to restore them
	Restorable

	kindCount = int(iota)
)

var kindWords = [kindCount]string{
	"requests", "held_calls", "tasks", "histories", "answers", "lists", "views", "references",
	"notifications", "outgoing", "sessions", "unwritten", "subscriptions", "questions", "restorable",
}

// String returns the kind as a label of metrics.
func (k Kind) String() string { return kindWords[k] }

// Holding is a snapshot of what one tenant keeps, in bytes.
type Holding struct {
	Tenant string
	Kept   int64 // of all kinds
	Limit  int64 // how much it may keep now; 0 is no bound
	Kinds  [kindCount]int64
	// Refused counts the refusals of the tenant for what it keeps, since the host started.
	Refused uint64
}

// String describes what the tenant keeps, the largest kind first.
func (h Holding) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s keeps %s", h.Tenant, mebibytes(h.Kept))
	if h.Limit > 0 {
		fmt.Fprintf(&b, " of %s", mebibytes(h.Limit))
	}
	if parts := h.Parts(); parts != "" {
		b.WriteString(": " + parts)
	}
	return b.String()
}

// Above describes how much the tenant keeps, and of which kinds, if that is more than share
// bytes. Otherwise it returns "". Share 0 is no bound.
func (h Holding) Above(share int64) string {
	if share == 0 || h.Kept <= share {
		return ""
	}
	return fmt.Sprintf("%s, more than its share of %s: %s", mebibytes(h.Kept),
		mebibytes(share), h.Parts())
}

// Parts returns how much of each kind there is, such as "held_calls 80.0 MiB, requests 3.0 MiB".
func (h Holding) Parts() string {
	kinds := make([]Kind, 0, kindCount)
	for k, n := range h.Kinds {
		if n > 0 {
			kinds = append(kinds, Kind(k))
		}
	}
	slices.SortStableFunc(kinds, func(a, b Kind) int { return cmp.Compare(h.Kinds[b], h.Kinds[a]) })
	words := make([]string, len(kinds))
	for i, k := range kinds {
		words[i] = k.String() + " " + mebibytes(h.Kinds[k])
	}
	return strings.Join(words, ", ")
}

func mebibytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// Bounds bounds how much all tenants together may keep, in bytes; 0 is no bound. Each bound is
// divided between the tenants by Shares.
type Bounds struct {
	Tenants int
	Total   int64 // of all kinds
	// Histories bounds the bytes of the kind Histories, so that data kept for convenience causes no
	// refusal of calls.
	Histories int64
}

// Ledger counts what tenants keep. Each tenant has an account with atomic counters, so callers do
// not wait for each other. The zero Ledger has no bounds and is ready to use.
type Ledger struct {
	bounds atomic.Pointer[Bounds]
	// The level of memory decides which tenants are refused; nil stays at Normal.
	memory    *Memory
	accounts  sync.Map
	lastCheck sync.Mutex // serializes the last check before a refusal for lack of room
	// beyond is the tenant whose message grows beyond the bounds; nil for none.
	beyond atomic.Pointer[turn]
}

// NewLedger returns a Ledger that refuses by the level of memory.
func NewLedger(memory *Memory) *Ledger { return &Ledger{memory: memory} }

// Bound puts bounds in force. Bytes that are kept already stay.
func (l *Ledger) Bound(b Bounds) { l.bounds.Store(&b) }

func (l *Ledger) bounded() Bounds {
	if b := l.bounds.Load(); b != nil {
		return *b
	}
	return Bounds{}
}

// Account returns the account of a tenant, always the same one.
func (l *Ledger) Account(tenant string) *Account {
	a, ok := l.accounts.Load(tenant)
	if !ok {
		a, _ = l.accounts.LoadOrStore(tenant, &Account{ledger: l, tenant: tenant})
	}
	return a.(*Account)
}

// Snapshot returns what each tenant keeps, by name. It leaves out tenants that never kept
// anything.
func (l *Ledger) Snapshot() []Holding {
	var all []Holding
	for a := range l.each {
		all = append(all, a.Holding())
	}
	slices.SortFunc(all, func(a, b Holding) int { return strings.Compare(a.Tenant, b.Tenant) })
	return all
}

func (l *Ledger) each(yield func(*Account) bool) {
	l.accounts.Range(func(_, a any) bool { return yield(a.(*Account)) })
}

// excess returns how much of the free part of s is taken, according to the counter that of
// selects in each account.
func (l *Ledger) excess(s Shares, of func(*Account) *atomic.Int64) (sum int64) {
	for a := range l.each {
		sum += s.Excess(of(a).Load())
	}
	return sum
}
