package storage_test

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcpd/actors/internal/testrig"
	"mcpd/actors/storage"
	"mcpd/internal/fault"
	"mcpd/telemetry"
)

func arm(s *testrig.Rig, f fault.Fault) {
	s.T.Helper()
	f.Lease = fault.MaxLease
	if _, err := s.Faults.Arm(f); err != nil {
		s.T.Fatal(err)
	}
}

// While a fault makes the disk full, or read-only, nothing is written. Waiting callers get the
// error, and the operator is told. When the fault is over, the pending changes are written.
func TestDiskThatTakesNothingIsAFault(t *testing.T) {
	for action, want := range map[fault.Action]error{fault.Fail: syscall.ENOSPC,
		fault.ReadOnly: syscall.EROFS} {
		run(t, func(s *testrig.Rig, d *disk) {
			arm(s, fault.Fault{Action: action, Point: fault.Point{Place: fault.StoreWrite}})
			if err := <-put(s, change("a", "1")); !errors.Is(err, want) {
				t.Errorf("%s: who waits is told %v", action, err)
			}
			time.Sleep(time.Minute)
			told := len(testrig.Of[telemetry.StateNotWritten](&s.Events))
			if got := d.String(); got != "[] 0" || told != 1 {
				t.Errorf("%s: written %s, and an operator was told %d times", action, got, told)
			}
			s.Faults.DisarmRun("")
			time.Sleep(2 * storage.RetryPause)
			if got := d.String(); got != "[[a=1]] 1" {
				t.Errorf("%s: afterwards: %s", action, got)
			}
		})
	}
}

// A sync that a fault makes slow, or fail, blocks no write, and is completed in the end.
func TestSlowSyncIsAFault(t *testing.T) {
	for action, delay := range map[fault.Action]time.Duration{fault.Slow: 5 * time.Second,
		fault.Fail: 0} {
		run(t, func(s *testrig.Rig, d *disk) {
			arm(s, fault.Fault{
				Action: action, Point: fault.Point{Place: fault.StoreSync}, Delay: delay, Count: 1,
			})
			for _, key := range []string{"a", "b"} {
				if err := <-put(s, change(key, "1")); err != nil {
					t.Error(err)
				}
				time.Sleep(2 * storage.SyncPause)
			}
			if got := d.String(); got != "[[a=1] [b=1]] 0" {
				t.Errorf("%s: %s", action, got)
			}
			time.Sleep(10 * time.Second)
			if got := d.String(); got != "[[a=1] [b=1]] 1" {
				t.Errorf("%s: afterwards %s", action, got)
			}
		})
	}
}

// A host that stops does not wait for a sync that a fault makes slow.
func TestStopDoesNotWaitForAFault(t *testing.T) {
	run(t, func(s *testrig.Rig, d *disk) {
		arm(s, fault.Fault{
			Action: fault.Slow, Point: fault.Point{Place: fault.StoreSync}, Delay: time.Hour,
		})
		if err := <-put(s, change("a", "1")); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * storage.SyncPause)
		began := time.Now()
		s.System.Close()
		if took := time.Since(began); took > time.Second || strings.HasSuffix(d.String(), " 0") {
			t.Errorf("it took %v: %s", took, d.String())
		}
	})
}
