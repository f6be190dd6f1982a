package tenant

import (
	"reflect"
	"testing"
	"time"

	"mcpd/protocol"
)

// Every setting that may change the lists of a server changes its identity. Bounds, times and
// policies do not.
func TestIdentity(t *testing.T) {
	base := func() Server {
		return Server{
			Name: "files", Command: NewSecret("files"), Args: []Secret{NewSecret("-a"), NewSecret("b")},
			Env:     map[string]Secret{"A": NewSecret("1"), "B": NewSecret("2")},
			Headers: map[string]Secret{"X": NewSecret("y")}, EnvPass: []string{"P"},
		}
	}
	same := map[string]func(*Server){
		"nothing":      func(*Server) {},
		"Start":        func(s *Server) { s.Start = StartEager },
		"IdleRelease":  func(s *Server) { s.IdleRelease = time.Hour },
		"IdleStop":     func(s *Server) { s.IdleStop = time.Hour },
		"StartTimeout": func(s *Server) { s.StartTimeout = time.Hour },
		"Intensity":    func(s *Server) { s.Intensity.Restarts = 9 },
		"Require":      func(s *Server) { s.Require = map[string]string{"a": "b"} },
		"Share":        func(s *Server) { s.Share = ByTenant }, // part of the key
		"Instances":    func(s *Server) { s.Instances = 3 },
		"Files":        func(s *Server) { s.Files = 3 },
		"FileSize":     func(s *Server) { s.FileSize = 3 },
		"Memory":       func(s *Server) { s.Memory = 3 },
		"ShareLogs":    func(s *Server) { s.ShareLogs = true },
		"Processes":    func(s *Server) { s.Processes = 3 },
		"Replay":       func(s *Server) { s.Replay = ReplayReadOnly },
		"CA":           func(s *Server) { s.CA = NewSecret("/ca.pem") },
		"Name":         func(s *Server) { s.Name = "other" },
	}
	other := map[string]func(*Server){
		"Command":      func(s *Server) { s.Command = NewSecret("file") },
		"Args":         func(s *Server) { s.Args = []Secret{NewSecret("-a b")} },
		"Env":          func(s *Server) { s.Env["A"] = NewSecret("3") },
		"EnvPass":      func(s *Server) { s.EnvPass = nil },
		"Cwd":          func(s *Server) { s.Cwd = NewSecret("/") },
		"URL":          func(s *Server) { s.URL = NewSecret("http://a") },
		"Headers":      func(s *Server) { s.Headers = nil },
		"Proxy":        func(s *Server) { s.Proxy = NewSecret("http://p:1") },
		"Transport":    func(s *Server) { s.Transport = "sse" },
		"Builtin":      func(s *Server) { s.Builtin = "demo" },
		"DenyRequests": func(s *Server) { s.DenyRequests = true },
		"Negotiation":  func(s *Server) { s.Negotiation.Ceiling = protocol.V20251125 },
	}
	was := base().Identity()
	for name, change := range same {
		s := base()
		if change(&s); s.Identity() != was {
			t.Errorf("%s makes it another", name)
		}
	}
	for name, change := range other {
		s := base()
		if change(&s); s.Identity() == was {
			t.Errorf("%s does not make it another", name)
		}
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Server]()) {
		if same[f.Name] == nil && other[f.Name] == nil {
			t.Errorf("nobody has decided about %s", f.Name)
		}
	}
}
