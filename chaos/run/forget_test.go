package run

import (
	"errors"
	"testing"
)

// An earlier run does not influence this one: the ends of the target are forgotten. A tenant that
// an operator has quarantined is left alone.
func TestEarlierEndsOfTheTargetAreForgotten(t *testing.T) {
	for _, c := range []struct {
		tenants  string
		released int
		unable   bool
	}{
		{`{"name":"acme","state":"running","ends":0}`, 0, false},
		{`{"name":"acme","state":"running","ends":3}`, 1, false},
		{`{"name":"acme","state":"paused","ends":3}`, 1, false},
		{`{"name":"acme","state":"quarantined","ends":0,"by_operator":true}`, 0, true},
		{`{"name":"globex","state":"paused","ends":3}`, 0, false},
		{``, 0, false},
	} {
		h := &host{tenants: c.tenants}
		err := operate(t, h).resetTenant(t.Context(), "acme")
		if errors.Is(err, ErrUnable) != c.unable || !c.unable && err != nil {
			t.Errorf("%s: %v", c.tenants, err)
		}
		if n := h.count("POST /admin/v1/tenants/acme/release"); n != c.released {
			t.Errorf("%s: released %d times, want %d", c.tenants, n, c.released)
		}
	}
}
