package storage_test

import (
	"strings"
	"testing"
	"time"

	"mcpd/actors/internal/testrig"
	"mcpd/actors/storage"
	"mcpd/gateway/quota"
	"mcpd/internal/fault"
	"mcpd/supervisor/otp"
)

// A storage that hangs at a message is replaced, and its successor writes the unwritten changes.
func TestHungStorageIsReplaced(t *testing.T) {
	run(t, func(s *testrig.Rig, d *disk) {
		arm(s, fault.Fault{
			Action: fault.Hang, Point: fault.Point{Path: "top/storage", Kind: "*storage.Keep"}, Count: 1,
		})
		s.Send("storage", &storage.Keep{Change: change("a", "1")})
		s.Send("storage", &storage.Keep{Change: change("b", "1")})
		time.Sleep(otp.DefaultHardTimeout + 2*time.Second)
		if got := d.String(); s.Ref("storage").Incarnation() != 2 || got != "[[b=1]] 1" {
			t.Errorf("incarnation %d has written %s", s.Ref("storage").Incarnation(), got)
		}
		if err := <-put(s, change("c", "1")); err != nil {
			t.Error(err)
		}
		s.Faults.DisarmRun("")
	})
}

// While a write to the disk hangs, the storage is replaced once. Later changes are kept and
// counted, and their callers get an error at once. When the disk works again all of them are
// written, including the deletion of a value that the late write put there.
func TestHungDiskIsWaitedForOnce(t *testing.T) {
	var kept quota.Ledger
	d := &disk{}
	testrig.Run(t, func(s *testrig.Rig) []otp.Child {
		return []otp.Child{{ID: "storage", Start: otp.Worker(func() otp.Behaviour {
			return storage.New(storage.Options{
				Store: d, Emit: s.Events.Emit, Faults: s.Faults, Account: kept.Account,
			})
		})}}
	}, func(s *testrig.Rig) {
		d.slow = make(chan struct{})
		held := func() int64 { return kept.Account("").Holding().Kept }
		status := func() string {
			return s.Tree.Snapshot().Children[0].Extra.(storage.Status).Failing
		}
		first := put(s, change("a", `1`))
		time.Sleep(time.Minute)
		if err := <-first; err == nil || s.Ref("storage").Incarnation() != 2 {
			t.Errorf("who waited is told %v by incarnation %d", err, s.Ref("storage").Incarnation())
		}
		began := time.Now()
		if err := <-put(s, change("b", `1`)); err == nil || time.Since(began) > time.Second {
			t.Errorf("who would wait is told %v after %s", err, time.Since(began))
		}
		s.Send("storage", &storage.Keep{Change: change("a", "")})
		s.WaitIdle()
		if status() == "" || held() == 0 {
			t.Errorf("status %q, %d bytes counted", status(), held())
		}
		close(d.slow)
		time.Sleep(10 * time.Second)
		if got := d.String(); !strings.HasPrefix(got, "[[a=1] [a= b=1]] ") {
			t.Errorf("written: %s", got)
		}
		if status() != "" || held() != 0 {
			t.Errorf("status %q, %d bytes counted", status(), held())
		}
		if err := <-put(s, change("c", `1`)); err != nil || s.Ref("storage").Incarnation() != 2 {
			t.Errorf("afterwards: %v, incarnation %d", err, s.Ref("storage").Incarnation())
		}
	})
}
