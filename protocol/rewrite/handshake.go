package rewrite

import (
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
)

// isHandshake reports whether the method is the first request of the server's era, and the client's
// era has a different one.
func (p *plan) isHandshake(method string) bool {
	switch method {
	case "initialize":
		return p.from.Has(protocol.Initialize) && p.to.Has(protocol.Discover)
	case "server/discover":
		return p.from.Has(protocol.Discover) && p.to.Has(protocol.Initialize)
	}
	return false
}

// handshakeResult translates between the result of initialize and that of server/discover. It
// removes tasks, because core tasks and tasks of the extension differ.
func handshakeResult(p *plan, result jsontext.Value, o Options) (jsontext.Value, error) {
	if p.to.Has(protocol.Discover) {
		r, err := protocol.ParseInitializeResult(result)
		if err != nil {
			return nil, &Inexpressible{"server/discover", p.to, err.Error()}
		}
		return discovered(p, r, o), nil
	}
	r, err := protocol.ParseDiscover(result)
	if err != nil {
		return nil, &Inexpressible{"initialize", p.to, err.Error()}
	}
	h := protocol.Handshake{
		Agreement: protocol.Agreement{Version: p.to}, Server: core(r.Capabilities).Shape(p.to),
	}
	info := r.Info
	if info.Name == "" {
		info = o.Server
	}
	return h.Result(info, r.Instructions), nil
}

func discovered(p *plan, r protocol.InitializeResult, o Options) jsontext.Value {
	versions := o.Versions
	if len(versions) == 0 {
		versions = []protocol.Version{p.to}
	}
	d := protocol.DiscoverResult{
		Capabilities: core(r.Capabilities).Shape(p.to), Info: r.Info, Instructions: r.Instructions,
	}
	for _, v := range versions {
		d.Versions = append(d.Versions, v.String())
	}
	if d.Info.Name == "" {
		d.Info = o.Server
	}
	return d.Result()
}

// core returns the capabilities without the tasks extension.
func core(c protocol.ServerCapabilities) protocol.ServerCapabilities {
	return c.Without("extensions." + protocol.ExtensionTasks)
}
