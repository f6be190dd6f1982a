package storage_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"

	"mcpd/actors/internal/testrig"
	"mcpd/actors/storage"
	"mcpd/gateway/quota"
	"mcpd/store"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// disk is a store that records the writes.
type disk struct {
	mu     sync.Mutex
	writes [][]string
	syncs  int
	full   error         // of every write
	bad    error         // of every sync
	gone   error         // of every Verify
	slow   chan struct{} // writes wait until it is closed; nil for none
}

func (d *disk) Apply(changes []store.Change) error {
	if d.slow != nil {
		<-d.slow
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.full != nil {
		return d.full
	}
	var write []string
	for _, c := range changes {
		write = append(write, c.Key+"="+string(c.Value))
	}
	d.writes = append(d.writes, write)
	return nil
}

func (d *disk) Has(_ store.Bucket, key string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, write := range slices.Backward(d.writes) {
		for _, change := range write {
			if name, value, _ := strings.Cut(change, "="); name == key {
				return value != ""
			}
		}
	}
	return false
}

func (d *disk) Verify() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.gone
}

func (d *disk) Sync() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.syncs++
	return d.bad
}

func (d *disk) set(full, bad error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.full, d.bad = full, bad
}

func (d *disk) String() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return fmt.Sprint(d.writes, d.syncs)
}

func run(t *testing.T, test func(s *testrig.Rig, d *disk)) {
	t.Helper()
	d := &disk{}
	testrig.Run(t, func(s *testrig.Rig) []otp.Child {
		return []otp.Child{{ID: "storage", Start: otp.Worker(func() otp.Behaviour {
			return storage.New(storage.Options{Store: d, Emit: s.Events.Emit, Faults: s.Faults})
		})}}
	}, func(s *testrig.Rig) { test(s, d) })
}

func change(key, value string) store.Change {
	c := store.Change{Bucket: store.Sessions, Key: key}
	if value != "" {
		c.Value = jsontext.Value(value)
	}
	return c
}

// put asks for a change; the result comes on the returned channel.
func put(s *testrig.Rig, c store.Change) <-chan error {
	done := make(chan error, 1)
	ref, ctx := s.Ref("storage"), s.T.Context()
	go func() { // ends with the storage at the latest
		_, err := otp.Do[storage.PutRequest, struct{}](ctx, ref, storage.PutRequest{Change: c})
		done <- err
	}()
	return done
}

// Changes that come during a write are written together: the last change of each name, in the order
// in which the names came. One sync serves many writes.
func TestChangesAreWrittenInGroups(t *testing.T) {
	run(t, func(s *testrig.Rig, d *disk) {
		d.slow = make(chan struct{})
		first := put(s, change("a", "1"))
		time.Sleep(time.Millisecond)
		ref := s.Ref("storage")
		for n := range 3 {
			for _, key := range []string{"b", "c"} {
				if err := ref.Send(&storage.Keep{Change: change(key, fmt.Sprint(n))}); err != nil {
					t.Fatal(err)
				}
			}
		}
		last := put(s, change("b", "3"))
		time.Sleep(time.Millisecond)
		close(d.slow)
		if a, b := <-first, <-last; a != nil || b != nil {
			t.Error(a, b)
		}
		time.Sleep(storage.SyncPause)
		s.WaitIdle()
		if got := d.String(); got != "[[a=1] [b=3 c=2]] 1" {
			t.Errorf("got %s", got)
		}
	})
}

// Sessions that come and go while nothing can be written leave nothing behind, and callers that
// waited for them get a reply. A value that is on the disk is deleted there.
func TestWhatWasNeverWrittenIsNotDeleted(t *testing.T) {
	run(t, func(s *testrig.Rig, d *disk) {
		if err := <-put(s, change("old", "1")); err != nil {
			t.Fatal(err)
		}
		if err := <-put(s, change("never", "")); err != nil {
			t.Fatal(err)
		}
		d.slow = make(chan struct{})
		_ = s.Ref("storage").Send(&storage.Keep{Change: change("first", "1")})
		time.Sleep(time.Millisecond) // it is being written
		waiting := put(s, change("a", "1"))
		time.Sleep(time.Millisecond)
		for _, c := range []store.Change{
			change("b", "1"), change("c", "1"), change("b", ""), change("old", ""), change("never", ""),
			change("a", ""), change("d", "1"), change("d", "2"),
		} {
			if err := s.Ref("storage").Send(&storage.Keep{Change: c}); err != nil {
				t.Fatal(err)
			}
		}
		close(d.slow)
		if err := <-waiting; err != nil {
			t.Error(err)
		}
		s.WaitIdle()
		last := slices.Sorted(slices.Values(d.writes[len(d.writes)-1]))
		if got := strings.Join(last, " "); got != "c=1 d=2 old=" {
			t.Errorf("written: %s", got)
		}
	})
}

// A full disk fails the waiting callers, and loses nothing: when there is space, everything is
// written once. The operator is told of both, once.
func TestFullDisk(t *testing.T) {
	run(t, func(s *testrig.Rig, d *disk) {
		full := errors.New("no space left")
		d.set(full, nil)
		if err := <-put(s, change("a", "1")); !errors.Is(err, full) {
			t.Errorf("got %v", err)
		}
		s.Send("storage", &storage.Keep{Change: change("b", "1")})
		s.Send("storage", &storage.Keep{Change: change("a", "2")})
		time.Sleep(5 * storage.RetryPause)
		d.set(nil, nil)
		time.Sleep(storage.RetryPause + storage.SyncPause)
		s.WaitIdle()
		if got := d.String(); got != "[[a=2 b=1]] 1" {
			t.Errorf("got %s", got)
		}
		if a, b := testrig.Of[telemetry.StateNotWritten](&s.Events),
			testrig.Of[telemetry.StateWritten](&s.Events); len(a) != 1 || len(b) != 1 ||
			!strings.Contains(a[0].Reason, "no space") {
			t.Errorf("told %v and %v", a, b)
		}
	})
}

// A disk is reported as working again only after a successful write: not because the pending
// changes are gone meanwhile, nor because the log is in its place, nor after a crash. The operator
// is told of failure and recovery, once each, and no unneeded data is kept.
func TestDiskIsMendedByAWrite(t *testing.T) {
	run(t, func(s *testrig.Rig, d *disk) {
		d.set(errors.New("no space left"), nil)
		<-put(s, change("a", "1"))
		s.Send("storage", &storage.Keep{Change: change("a", "")}) // nothing is pending any more
		time.Sleep(10 * storage.VerifyPause)
		s.Break("storage", "*storage.Keep")
		s.Send("storage", &storage.Keep{Change: change("a", "")})
		time.Sleep(10 * storage.VerifyPause)
		told := func() (failed, mended int) {
			s.WaitIdle()
			return len(testrig.Of[telemetry.StateNotWritten](&s.Events)),
				len(testrig.Of[telemetry.StateWritten](&s.Events))
		}
		if failed, mended := told(); failed != 1 || mended != 0 {
			t.Errorf("failed %d times, mended %d times, while it takes nothing", failed, mended)
		}
		d.set(nil, nil)
		time.Sleep(10 * storage.VerifyPause)
		if failed, mended := told(); failed != 1 || mended != 1 {
			t.Errorf("failed %d times, mended %d times", failed, mended)
		}
		if len(d.writes) != 1 || len(d.writes[0]) != 1 || !strings.HasSuffix(d.writes[0][0], "=") {
			t.Errorf("written: %s", d)
		}
	})
}

// A caller gets an error at once while the disk fails, and its change is written when there is
// space. From then on callers wait for the disk again.
func TestFullDiskMakesNobodyWait(t *testing.T) {
	run(t, func(s *testrig.Rig, d *disk) {
		full := errors.New("no space left")
		d.set(full, nil)
		<-put(s, change("a", "1"))
		d.set(nil, nil)
		for _, key := range []string{"b", "c"} {
			began := time.Now()
			if err := <-put(s, change(key, "1")); err == nil || time.Since(began) > 0 {
				t.Errorf("%v after %v", err, time.Since(began))
			}
		}
		time.Sleep(2 * storage.RetryPause)
		if got := d.String(); !strings.HasPrefix(got, "[[a=1 b=1 c=1]]") {
			t.Errorf("got %s", got)
		}
		if err := <-put(s, change("d", "1")); err != nil {
			t.Errorf("after it was written: %v", err)
		}
	})
}

// A log that is no longer in its place is noticed while nothing is written. The operator is told of
// that, and of its recovery, once.
func TestStateThatIsGoneIsNoticed(t *testing.T) {
	run(t, func(s *testrig.Rig, d *disk) {
		<-put(s, change("a", "1"))
		gone := func(err error) {
			d.mu.Lock()
			d.gone = err
			d.mu.Unlock()
			time.Sleep(3 * storage.VerifyPause)
			s.WaitIdle()
		}
		status := func() string {
			var status string
			s.System.Snapshot().Walk(func(n otp.Node) bool {
				if s, ok := n.Extra.(storage.Status); ok {
					status = s.Failing
				}
				return true
			})
			return status
		}
		gone(errors.New("replaced"))
		if got := status(); got != "replaced" {
			t.Errorf("failing with %q", got)
		}
		gone(errors.New("in use"))
		if got := status(); got != "in use" {
			t.Errorf("failing with %q", got)
		}
		gone(nil)
		if got := status(); got != "" {
			t.Errorf("failing with %q", got)
		}
		if a, b := testrig.Of[telemetry.StateNotWritten](&s.Events),
			testrig.Of[telemetry.StateWritten](&s.Events); len(a) != 1 || len(b) != 1 ||
			a[0].Reason != "replaced" {
			t.Errorf("told %v and %v", a, b)
		}
	})
}

// A failed sync is repeated.
func TestSyncFails(t *testing.T) {
	run(t, func(s *testrig.Rig, d *disk) {
		d.set(nil, errors.New("input/output error"))
		<-put(s, change("a", "1"))
		time.Sleep(storage.SyncPause + 3*storage.RetryPause/2)
		d.set(nil, nil)
		<-put(s, change("b", "1"))
		time.Sleep(2 * storage.RetryPause)
		s.WaitIdle()
		if got := d.String(); got != "[[a=1] [b=1]] 3" {
			t.Errorf("got %s", got)
		}
	})
}

// Changes that were not written when the storage crashed are written by its next incarnation, and
// their callers get a reply.
func TestCrashLosesNoChange(t *testing.T) {
	run(t, func(s *testrig.Rig, d *disk) {
		s.Break("storage", "storage.write")
		if err := <-put(s, change("a", "1")); err != nil {
			t.Error(err)
		}
		s.Struck()
		if got := d.String(); got != "[[a=1]] 0" {
			t.Errorf("got %s", got)
		}
	})
}

// Pending changes are written and synced before a stopping host ends.
func TestStopWritesWhatIsLeft(t *testing.T) {
	d := &disk{}
	testrig.Run(t, func(s *testrig.Rig) []otp.Child {
		return []otp.Child{{ID: "storage", Start: otp.Worker(func() otp.Behaviour {
			return storage.New(storage.Options{Store: d, Emit: s.Events.Emit})
		})}}
	}, func(s *testrig.Rig) {
		d.set(errors.New("no space left"), nil)
		<-put(s, change("a", "1"))
		d.set(nil, nil)
		s.System.Close()
	})
	if got := d.String(); got != "[[a=1]] 1" {
		t.Errorf("got %s", got)
	}
}

// A change that can never be written is refused alone: the changes of others do not wait for it.
func TestChangeThatCannotBeWrittenHoldsUpNobody(t *testing.T) {
	run(t, func(s *testrig.Rig, d *disk) {
		large := `"` + strings.Repeat("x", 4<<20) + `"`
		s.Send("storage", &storage.Keep{Change: change("large", large)})
		for _, value := range []string{large, `{`} {
			if err := <-put(s, change("bad", value)); err == nil {
				t.Errorf("%.9s was taken", value)
			}
		}
		if err := <-put(s, change("a", "1")); err != nil {
			t.Error(err)
		}
		time.Sleep(storage.SyncPause)
		s.WaitIdle()
		if got := d.String(); !strings.HasPrefix(got, "[[a=1]]") {
			t.Errorf("got %.100s", got)
		}
		if told := testrig.Of[telemetry.Rejected](&s.Events); len(told) != 1 {
			t.Errorf("told %v", told)
		}
	})
}

// Changes gathered elsewhere are taken in parts, and not while the disk fails. A part that was
// taken is not lost with an incarnation.
func TestGatheredChangesAreCollected(t *testing.T) {
	d := &disk{full: errors.New("full")}
	keep := func(key, value string) storage.Keep { return storage.Keep{Change: change(key, value)} }
	parts, asked := [][]storage.Keep{{keep("a", "1")}, {keep("bad", "{"), keep("b", "1")},
		{keep("c", "1")}}, 0
	testrig.Run(t, func(s *testrig.Rig) []otp.Child {
		return []otp.Child{{ID: "storage", Start: otp.Worker(func() otp.Behaviour {
			return storage.New(storage.Options{Store: d, Emit: s.Events.Emit,
				More: func() (part []storage.Keep, others bool) {
					if asked++; len(parts) > 0 {
						part, parts = parts[0], parts[1:]
					}
					return part, len(parts) > 0
				}})
		})}}
	}, func(s *testrig.Rig) {
		s.Send("storage", storage.Collect{}) // the first part is tried at once
		time.Sleep(5 * storage.RetryPause)
		s.Break("storage", "storage.write")
		time.Sleep(2 * storage.RetryPause)
		if asked != 1 {
			t.Errorf("asked %d times by a storage that cannot write", asked)
		}
		d.set(nil, nil)
		time.Sleep(3 * storage.RetryPause)
		s.WaitIdle()
		if got := d.String(); !strings.Contains(got, "a=1") || !strings.Contains(got, "b=1") ||
			!strings.Contains(got, "c=1") || strings.Contains(got, "bad") {
			t.Errorf("written %s", got)
		}
	})
}

// A change counts for its tenant while it waits for the disk: once, whatever happens to the writer,
// and no longer after it is written or taken back.
func TestUnwrittenChangesAreCounted(t *testing.T) {
	var kept quota.Ledger
	d := &disk{}
	testrig.Run(t, func(s *testrig.Rig) []otp.Child {
		return []otp.Child{{ID: "storage", Start: otp.Worker(func() otp.Behaviour {
			return storage.New(storage.Options{Store: d, Emit: s.Events.Emit, Account: kept.Account})
		})}}
	}, func(s *testrig.Rig) {
		counts := func(acme, initech int64) {
			t.Helper()
			s.WaitIdle()
			for tenant, want := range map[string]int64{"acme": acme, "initech": initech} {
				if got := kept.Account(tenant).Holding(); got.Kinds[quota.PendingWrites] != want ||
					got.Kept != want {
					t.Errorf("%s keeps %v, want %d bytes", tenant, got, want)
				}
			}
		}
		keep := func(tenant, key, value string) {
			s.Send("storage", &storage.Keep{Tenant: tenant, Change: change(key, value)})
		}
		keep("acme", "a", `"12345"`)
		counts(0, 0)
		d.set(syscall.ENOSPC, nil)
		keep("acme", "a", `"123"`)
		counts(6, 0)
		keep("acme", "a", `"12345"`) // only the last one counts
		keep("initech", "b", `"1"`)
		keep("acme", "c", `"1"`)
		counts(8+4, 4)
		s.Break("storage", "*storage.Keep")
		keep("initech", "lost", `"1"`)
		s.Struck()
		counts(8+4, 4)
		keep("acme", "c", "") // it was never written
		counts(8, 4)
		d.set(nil, nil)
		time.Sleep(2 * storage.RetryPause)
		counts(0, 0)
	})
}
