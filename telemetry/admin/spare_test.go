package admin

import (
	"net"
	"testing"
)

// A reserved descriptor is freed for a connection and reserved again when the connection ends.
// Closing the listener frees all of them.
func TestSpareDescriptorsAreTakenBack(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &reservingListener{TCPListener: l.(*net.TCPListener)}
	if s.clientWaiting() {
		t.Error("somebody waits though nobody connects")
	}
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if !s.clientWaiting() {
		t.Error("nobody waits though somebody connects")
	}
	c, err := s.Accept()
	if err != nil || len(s.files) != reservedDescriptors {
		t.Fatalf("%v with %d spare descriptors, want %d", err, len(s.files), reservedDescriptors)
	}
	for range reservedDescriptors {
		if !s.free() {
			t.Fatal("there are fewer")
		}
	}
	if s.free() {
		t.Error("there are more")
	}
	if err := c.Close(); err != nil || len(s.files) != reservedDescriptors {
		t.Errorf("%v with %d spare descriptors after the connection, want %d", err, len(s.files),
			reservedDescriptors)
	}
	if err := s.Close(); err != nil || len(s.files) != 0 {
		t.Errorf("%v with %d spare descriptors after the listener", err, len(s.files))
	}
	if s.fill(); len(s.files) != 0 {
		t.Error("a connection that ends after the listener takes some")
	}
}
