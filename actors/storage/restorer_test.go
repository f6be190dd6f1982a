package storage_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/storage"
	"mcpd/store"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// reads is an actor that reads records as it starts, and calls a function with each.
type reads struct {
	otp.Base
	records *storage.Restorer
	values  []string
	to      otp.Ref
	read    func(p *otp.Process, value string)
}

func (r reads) Init(p *otp.Process) error {
	for n, value := range r.values {
		of := storage.Reading{
			Change: store.Change{Bucket: store.Sessions, Key: fmt.Sprint(n), Value: jsontext.Value(value)},
			Kind:   "session", Name: fmt.Sprint("row-", n), Storage: r.to,
			Tenant: func() string {
				if value == "nobody" {
					panic("whose is it?")
				}
				return "acme"
			},
		}
		r.records.Read(p, of, func() { r.read(p, value) })
	}
	return nil
}

func (reads) Receive(*otp.Process, any) error { return nil }

// keeper records the messages that it gets.
type keeper struct {
	otp.Base
	kept *[]string
}

func (k keeper) Receive(_ *otp.Process, msg any) error {
	c := msg.(*storage.Keep)
	label := "set"
	if c.Value == nil {
		label = "delete"
	}
	*k.kept = append(*k.kept, fmt.Sprintf("%s: %s %s %q", c.Tenant, label, c.Bucket, c.Key))
	return nil
}

// restores starts an actor that reads values, until it is ready. It returns the events, and the
// messages to the storage.
func restores(t *testing.T, held int, read func(p *otp.Process, value string),
	values ...string) (told []telemetry.RecordSetAside, kept []string, records *storage.Restorer) {
	t.Helper()
	records = storage.NewRestorer(storage.RestorerOptions{Aside: held, Emit: func(e telemetry.Event) {
		told = append(told, e.(telemetry.RecordSetAside))
	}})
	sys := otp.NewSystem(otp.Options{})
	defer sys.Close()
	backoff := otp.Backoff{First: time.Second, Max: time.Minute, Stable: time.Minute, AtStart: true}
	ctx, stop := context.WithCancel(t.Context())
	_, err := sys.Start(ctx, "top", otp.Spec{Backoff: backoff, Children: []otp.Child{
		{ID: "storage", Start: otp.Worker(func() otp.Behaviour { return keeper{kept: &kept} })},
		{ID: "reader", StartTimeout: time.Second, Start: otp.Worker(func() otp.Behaviour {
			to, _ := sys.Whereis("top/storage")
			return reads{records: records, values: values, to: to, read: read}
		})},
	}})
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Minute)
	if at, _ := sys.Whereis("top/reader"); !at.Alive() {
		t.Error("the reader does not run")
	}
	stop()
	synctest.Wait()
	return told, kept, records
}

func TestRecordThatPanicsIsSetAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		told, kept, records := restores(t, 0, func(_ *otp.Process, value string) {
			if value == "bad" {
				panic(errors.New("crash"))
			}
			got = append(got, value)
		}, "one", "bad", "nobody", "two")
		if want := []string{"one", "two"}; !slices.Equal(got, want) {
			t.Errorf("read %q, want %q", got, want)
		}
		want := []string{
			`acme: set aside "sessions 1"`, `acme: delete sessions "1"`, `: set aside "sessions 2"`,
			`: delete sessions "2"`,
		}
		if !slices.Equal(kept, want) {
			t.Errorf("sent to the storage: %q, want %q", kept, want)
		}
		if len(told) != 2 || told[0].Tenant != "acme" || told[0].Name != "row-1" ||
			told[0].Reason != "crash" || told[0].Incident == "" ||
			!strings.Contains(told[0].Report.Stack(), "restorer_test.go") || told[1].Tenant != "" {
			t.Errorf("told: %+v", told)
		}
		aside := records.Aside()
		if len(aside) != 2 || aside[0] != (storage.Record{Kind: "session", Tenant: "acme", Name: "row-1",
			Incident: told[0].Incident}) {
			t.Errorf("aside: %+v", aside)
		}
	})
}

// A reader that hangs at a record, or whose goroutine exits at it, starts without that record the
// next time.
func TestRecordThatIsNotFinishedIsSetAside(t *testing.T) {
	for _, how := range []string{"hang", "exit"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stuck := make(chan struct{})
				defer close(stuck)
				times := 0
				told, kept, _ := restores(t, 0, func(p *otp.Process, value string) {
					if value != "bad" {
						return
					}
					if times++; how == "exit" {
						runtime.Goexit()
					}
					<-stuck
				}, "one", "bad", "two")
				if times != 1 || len(told) != 1 || told[0].Name != "row-1" || len(kept) != 2 {
					t.Errorf("read %d times, told %+v, sent to the storage %q", times, told, kept)
				}
			})
		})
	}
}

// A bounded number of records is kept aside. Further ones are deleted.
func TestRecordsAsideAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		values := make([]string, storage.MaxAside)
		for i := range values {
			values[i] = fmt.Sprint("bad", i)
		}
		told, kept, records := restores(t, storage.MaxAside-1, func(*otp.Process, string) {
			panic("crash")
		}, values...)
		set := 0
		for _, k := range kept {
			if strings.Contains(k, "set aside") {
				set++
			}
		}
		if set != 1 || len(told) != len(values) || len(records.Aside()) != storage.MaxAside {
			t.Errorf("%d are kept and %d were told of and %d are listed, want 1 and all", set, len(told),
				len(records.Aside()))
		}
	})
}
