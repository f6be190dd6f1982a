package streamable

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
)

// disk holds the events of streams that a host has saved.
type disk map[string]string

// life returns a host that restores the events on a disk, and saves there.
func (d disk) life(t *testing.T, o StoreOptions) (store *Store, s *Streams, dropped []error) {
	t.Helper()
	o.Save = func() {}
	store = NewStore(o)
	s = store.Streams("acme", "one")
	var all []Saved
	for key, value := range d {
		all = append(all, Saved{key, []byte(value)})
	}
	dropped = s.Restore(all)
	d.write(store)
	return store, s, dropped
}

func (d disk) write(store *Store) {
	for more := true; more; {
		var part []Saved
		for part, more = store.Unsaved(); len(part) > 0; part = part[1:] {
			if d[part[0].Key] = string(part[0].Value); part[0].Value == nil {
				delete(d, part[0].Key)
			}
		}
	}
}

// asked returns a call whose stream has one event.
func asked(t *testing.T, s *Streams, id uint64) *reply {
	t.Helper()
	r := newReply(s, 1, true)
	r.requestID = jsonrpc.IntID(id)
	if err := r.Send(note("notifications/progress", 1)); err != nil {
		t.Fatal(err)
	}
	return r
}

// readOut reads all events of a stream, with their ids, as a connection that does not break.
func readOut(s *Streams, o *streamResponse) (events []string, last phase) {
	for {
		batch, phase := s.take(o, make([]entry, 0, 2))
		for _, e := range batch {
			events = append(events, string(o.appendID(nil, e.seq, e.weight))+" "+string(e.data))
		}
		if len(batch) == 0 {
			o.done = phase == completed
			s.detach(o)
			return events, phase
		}
	}
}

// Only events for a disconnected client are saved. The next host gives the client the missed
// events, under their original ids, as often as the client asks. It deletes them once they were
// read.
func TestAnswerIsThereForTheNextHost(t *testing.T) {
	d := disk{}
	store, s, _ := d.life(t, StoreOptions{})
	read, cut, open := asked(t, s, 1), asked(t, s, 2), asked(t, s, 3)
	read.Finish(jsonrpc.Response(read.requestID, nil))
	if _, phase := readOut(s, &read.out); phase != completed {
		t.Fatal(phase)
	}
	read.leave()
	taken(s, &cut.out, 8)
	if d.write(store); len(d) != 0 {
		t.Errorf("of who is there %v was written", d)
	}
	cut.leave()
	_ = cut.Send(note("notifications/progress", 2))
	cut.Finish(jsonrpc.Response(cut.requestID, []byte(`{"a": "\u00e9"}`)))
	open.leave()
	d.write(store)
	before := maps.Clone(d)
	want := []string{
		idAt(&cut.out, 2) + " " + line(note("notifications/progress", 2)),
		string(cut.out.appendID(nil, 3, outcome)) + ` {"jsonrpc":"2.0","id":2,"result":{"a": "\u00e9"}}`,
	}

	for range 2 { // it is killed before the client has reconnected
		store, s, dropped := d.life(t, StoreOptions{})
		if len(dropped) > 0 || !maps.Equal(d, before) {
			t.Fatalf("dropped %v, changed %v to %v", dropped, before, d)
		}
		for range 2 {
			if got, phase := readOut(s, listening(t, s, idAt(&cut.out, 1))); !slices.Equal(got, want) ||
				phase != completed {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		got, phase := readOut(s, listening(t, s, idAt(&open.out, 0)))
		if len(got) != 2 || phase != completed || !strings.HasPrefix(got[0], idAt(&open.out, 1)+" ") ||
			!strings.Contains(got[1], `"maybeExecuted":true`) {
			t.Errorf("the call that was in flight has %q", got)
		}
		if got, _ := readOut(s, listening(t, s, idAt(&read.out, 0))); len(got) != 1 ||
			!strings.Contains(got[0], `"maybeExecuted":true`) {
			t.Errorf("what was read before is %q", got)
		}
		fresh := asked(t, s, 4)
		if fresh.out.number <= open.out.number {
			t.Errorf("the number of stream %d is given again", fresh.out.number)
		}
		if d.write(store); len(d) != 0 {
			t.Errorf("after it was read %v is kept", d)
		}
		maps.Copy(d, before)
	}
	_, s, _ = d.life(t, StoreOptions{})
	s.Close()
}

// A client that resumes with the id of the answer has received everything, and gets nothing more:
// from the host that answered, from each later host, and when it resumes with an id of those. A
// client that resumes with the previous id gets the answer, or is told that the outcome is unknown.
func TestAnAnswerIsTheLastOfItsStream(t *testing.T) {
	d := disk{}
	store, s, _ := d.life(t, StoreOptions{})
	read, away := asked(t, s, 1), asked(t, s, 2)
	read.Finish(jsonrpc.Response(read.requestID, nil))
	readOut(s, &read.out)
	read.leave()
	away.leave()
	away.Finish(jsonrpc.Response(away.requestID, []byte(`{"a":1}`)))
	d.write(store)
	last := string(read.out.appendID(nil, 2, outcome))
	quiet := func(s *Streams, id string) {
		t.Helper()
		o := listening(t, s, id)
		primed := string(o.appendID(nil, o.next-1, ordinary))
		if got, phase := readOut(s, o); len(got) != 0 || phase != completed || primed != id ||
			s.Open() != 0 {
			t.Errorf("from %s: got %q, %v, primed with %s, %d open", id, got, phase, primed, s.Open())
		}
	}
	quiet(s, last)
	for range 2 {
		_, next, _ := d.life(t, StoreOptions{})
		quiet(next, last)
		if got, _ := readOut(next, listening(t, next, idAt(&away.out, 1))); len(got) != 1 ||
			!strings.HasSuffix(got[0], `"result":{"a":1}}`) {
			t.Errorf("of the answer that was not read: %q", got)
		}
		got, _ := readOut(next, listening(t, next, idAt(&read.out, 1)))
		if len(got) != 1 || !strings.Contains(got[0], `"maybeExecuted":true`) {
			t.Fatalf("before the answer that was read: %q", got)
		}
		told, _, _ := strings.Cut(got[0], " ")
		quiet(next, told)
		_, third, _ := d.life(t, StoreOptions{})
		quiet(third, told)
		other := NewStore(StoreOptions{}).Streams("acme", "two")
		if err := other.connect(&streamResponse{}, last, protocol.V20251125); err != errEventID {
			t.Errorf("another session's: %v", err)
		}
	}
}

// Notifications that a client missed while it had no GET are given to it by the next host, once.
// Notifications of a session that never had a GET are not saved, nor are questions.
func TestNotificationsAreThereForTheNextHost(t *testing.T) {
	d := disk{}
	store, s, _ := d.life(t, StoreOptions{})
	pushAll(t, s, note("notifications/message", 1))
	if d.write(store); len(d) != 0 {
		t.Errorf("of a session without GET %v was written", d)
	}
	get := listening(t, s, "")
	taken(s, get, 1)
	s.detach(get)
	pushAll(t, s, note("notifications/message", 2), jsonrpc.Request(jsonrpc.IntID(1), "ping", nil),
		note("notifications/message", 3))
	if d.write(store); len(d) != 2 {
		t.Errorf("written: %v", d)
	}
	for range 2 {
		store, s, _ = d.life(t, StoreOptions{})
		if len(d) != 2 {
			t.Errorf("the next host keeps %v", d)
		}
	}
	again := listening(t, s, idAt(get, 1))
	if got, _ := taken(s, again, 8); len(got) != 2 ||
		got[0] != line(note("notifications/message", 2)) ||
		got[1] != line(note("notifications/message", 3)) {
		t.Errorf("got %q", got)
	}
	if d.write(store); len(d) != 0 {
		t.Errorf("kept %v", d)
	}
}

// Saved events have the limits of the events in memory, and are deleted with them.
func TestSavedEventsEnd(t *testing.T) {
	for name, end := range map[string]func(s *Streams){
		"the session ends": func(s *Streams) { s.Close() },
		"its time is over": func(*Streams) { time.Sleep(DefaultTTL + 2*sweepEvery) },
		"memory is short":  func(s *Streams) { s.Trim(true) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := disk{}
				store, s, _ := d.life(t, StoreOptions{StreamEvents: 8})
				defer s.Close()
				r, get := asked(t, s, 1), listening(t, s, "")
				r.leave()
				s.detach(get)
				for n := range 20 {
					pushAll(t, s, note("notifications/message", n))
					_ = r.Send(note("notifications/message", n))
				}
				if d.write(store); len(d) != 16 {
					t.Errorf("%d are kept", len(d))
				}
				end(s)
				if d.write(store); len(d) != 0 || store.saver.used != 0 || len(store.saver.live) != 0 {
					t.Errorf("left %v, %d bytes", d, store.saver.used)
				}
			})
		})
	}
}

// Beyond the limit of the disk, the oldest events of all sessions are deleted or not
// saved. An event that is dropped before it was written costs nothing.
func TestOldestOfAllIsNotSaved(t *testing.T) {
	d := disk{}
	store, s, _ := d.life(t, StoreOptions{SavedBytes: 1000})
	other := store.Streams("acme", "two")
	var replies []*reply
	for n, of := range []*Streams{s, other, s, other, s} {
		r := asked(t, of, uint64(n))
		taken(of, &r.out, 1)
		r.leave()
		r.Finish(jsonrpc.Response(r.requestID, []byte(`"`+strings.Repeat("x", 300)+`"`)))
		replies = append(replies, r)
	}
	part, more := store.Unsaved()
	if more || store.saver.used > 1000 || len(part) != len(store.saver.live) || len(part) < 2 {
		t.Errorf("%d changes for %d events of %d bytes", len(part), len(store.saver.live),
			store.saver.used)
	}
	last := replies[len(replies)-1]
	if store.saver.live[s.key(last.stream, 2)] == nil {
		t.Error("the newest is not saved")
	}
}

// Events of other sessions, invalid events and events that are too old are dropped, and the others
// are kept.
func TestForeignAndBrokenEventsAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := disk{}
		store, s, _ := d.life(t, StoreOptions{})
		old := asked(t, s, 1)
		old.leave()
		time.Sleep(DefaultTTL - time.Second)
		good := asked(t, s, 2)
		good.leave()
		good.Finish(jsonrpc.Response(good.requestID, nil))
		d.write(store)
		s.mu.Lock()
		key, value := s.key(good.stream, 2), d[s.key(good.stream, 2)]
		s.mu.Unlock()
		time.Sleep(2 * time.Second)
		for k, v := range map[string]string{
			"two" + key[3:]: value, key + "x": value, strings.Replace(key, ".p", ".g", 1): value,
			"one": value, "": "",
			strings.Replace(key[:strings.LastIndex(key, ".")], ".p", ".a", 1): value,
			"one." + newNonce("one") + ".a0.1":                                value,
			key[:strings.LastIndex(key, ".")]:                                 value,
			strings.Replace(key, ".2.", ".9.", 1):                             `{"at":1`,
			strings.Replace(key, ".2.", ".3.", 1):                             value,
		} {
			d[k] = v
		}
		_, next, dropped := d.life(t, StoreOptions{})
		defer next.Close()
		defer s.Close()
		if len(dropped) != 11 || len(d) != 2 {
			t.Errorf("dropped %v, left %v", dropped, d)
		}
		if got, phase := readOut(next, listening(t, next, idAt(&good.out, 1))); len(got) != 1 ||
			phase != completed {
			t.Errorf("got %q", got)
		}
	})
}

// Any stored record is restored or dropped, and never causes a crash. Restored events can be
// resumed.
func FuzzRestore(f *testing.F) {
	nonce := newNonce("one")
	f.Add("one."+nonce+".p1.2.MQ",
		`{"at":9000000000000000000,"data":"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"}`)
	f.Add("one."+nonce+".g0.1",
		`{"at":9000000000000000000,"data":"{\"jsonrpc\":\"2.0\",\"method\":\"a\"}"}`)
	f.Fuzz(func(t *testing.T, key, value string) {
		d := disk{
			key:                         value,
			"one." + nonce + ".p1.1.MQ": `{"at":9000000000000000000,"data":"{\"jsonrpc\":\"2.0\",\"method\":\"a\"}"}`,
		}
		_, s, dropped := d.life(t, StoreOptions{})
		defer s.Close()
		if len(d)+len(dropped) < 1 || len(d) > 2 {
			t.Errorf("dropped %v, left %v", dropped, d)
		}
		o := makeStreamResponse()
		if s.connect(&o, nonce+".p1.0.MQ", protocol.V20251125) == nil {
			if got, phase := readOut(s, &o); phase != completed ||
				!strings.Contains(got[len(got)-1], `"id":1`) {
				t.Errorf("got %q, %v", got, phase)
			}
		}
	})
}
