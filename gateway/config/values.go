package config

import (
	"fmt"
	"net"
	"net/netip"
	"net/textproto"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mcpd/gateway/auth"
	"mcpd/gateway/config/document"
	"mcpd/gateway/tenant"
	"mcpd/protocol"
	wire "mcpd/protocol/headers"
	"mcpd/protocol/negotiation"
)

func putWord(choice []string) func(any, value) *mistake {
	return func(dst any, v value) *mistake {
		if choice != nil && !slices.Contains(choice, v.text) {
			return notAWord(v.text, choice)
		}
		if v.text == "" {
			return &mistake{"it is empty", "leave the key out or give it a value"}
		}
		*dst.(*string) = v.text
		return nil
	}
}

func notAWord(word string, choice []string) *mistake {
	return &mistake{
		"it is none of " + strings.Join(choice, ", "),
		document.DidYouMean(word, choice, "write "+words(choice)),
	}
}

func putShare(dst any, v value) *mistake {
	i := slices.Index(tenant.Shares, v.text)
	if i < 0 {
		return notAWord(v.text, tenant.Shares)
	}
	*dst.(*tenant.Share) = tenant.Share(i)
	return nil
}

func putMode(dst any, v value) *mistake {
	i := slices.Index(modes, v.text)
	if i < 0 {
		return notAWord(v.text, modes)
	}
	*dst.(*protocol.Mode) = protocol.Mode(i)
	return nil
}

func putRevision(dst any, v value) *mistake {
	version, ok := protocol.ParseVersion(v.text)
	if !ok {
		return notAWord(v.text, protocol.GetSupportedVersions())
	}
	*dst.(*protocol.Version) = version
	return nil
}

func putAddress(dst any, v value) *mistake {
	host, port, err := net.SplitHostPort(v.text)
	if err != nil {
		return &mistake{"an address must be a host and a port", "write it like 127.0.0.1:7420"}
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || strconv.FormatUint(n, 10) != port {
		return &mistake{"the port is not a number from 0 to 65535", "write it like 127.0.0.1:7420"}
	}
	if strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r == '/' || r > '~' }) {
		return &mistake{"the host has a character that is not allowed", "write it like 127.0.0.1:7420"}
	}
	*dst.(*string) = v.text
	return nil
}

// UnixPrefix begins the address of a Unix socket.
const UnixPrefix = "unix:"

// maxSocketPath bounds the path of a Unix socket in bytes. sun_path holds one byte more on macOS
// and the BSDs, and 108 bytes on Linux.
const maxSocketPath = 103

func putListen(dst any, v value) *mistake {
	list := dst.(*[]string)
	file, isUnix := strings.CutPrefix(v.text, UnixPrefix)
	switch {
	case !isUnix:
		var address string
		if m := putAddress(&address, v); m != nil {
			return m
		}
	case !filepath.IsAbs(file):
		return &mistake{
			"a relative path depends on where mcpd was started",
			"write an absolute path, like unix:/run/mcpd/mcp.sock",
		}
	case len(file) > maxSocketPath:
		return &mistake{
			fmt.Sprintf("the path of a socket has at most %d bytes", maxSocketPath), "choose a shorter one",
		}
	}
	if slices.Contains(*list, v.text) && !strings.HasSuffix(v.text, ":0") {
		return &mistake{"it is listed more than once", "remove one of the two"}
	}
	*list = append(*list, v.text)
	return nil
}

var basePaths = regexp.MustCompile(`^(/[A-Za-z0-9._~-]+)+$`)

func putBasePath(dst any, v value) *mistake {
	if !basePaths.MatchString(v.text) || path.Clean(v.text) != v.text {
		return &mistake{
			"it is not a plain path",
			"write it like /tools, with letters, digits and -._~, and without a / at its end",
		}
	}
	*dst.(*string) = v.text
	return nil
}

func putFileMode(dst any, v value) *mistake {
	digits := strings.TrimPrefix(strings.TrimPrefix(v.text, "0o"), "0")
	if n, err := strconv.ParseUint(digits, 8, 16); err != nil || len(digits) != 3 || n == 0 {
		return &mistake{"it is not a file mode", "write three octal digits, like 0660"}
	}
	*dst.(*string) = "0" + digits
	return nil
}

func putOwner(dst any, v value) *mistake {
	user, group, both := strings.Cut(v.text, ":")
	if user == "" && group == "" || both && group == "" ||
		strings.ContainsFunc(v.text, func(r rune) bool {
			return r <= ' ' || r == '/'
		}) ||
		strings.Contains(group, ":") {
		return &mistake{
			"it does not name a user or group", "write it like www-data, www-data:www-data or :www-data",
		}
	}
	*dst.(*string) = v.text
	return nil
}

func putFile(dst any, v value) *mistake {
	if !filepath.IsAbs(v.text) {
		return &mistake{
			"a relative path depends on where mcpd was started", "write an absolute path, beginning with /",
		}
	}
	*dst.(*string) = v.text
	return nil
}

// pageSchemes are the schemes of pages that belong to a program on the user's machine. Such pages
// have no host of their own.
var pageSchemes = []string{
	"chrome-extension", "moz-extension", "safari-web-extension", "vscode-webview",
}

func putOrigin(dst any, v value) *mistake {
	u, err := url.Parse(v.text)
	if err != nil || u.Host == "" || v.text != u.Scheme+"://"+u.Host {
		return &mistake{
			"an origin is exactly a scheme and a host",
			"write it like https://app.example.com, with :port if it has one",
		}
	}
	program := slices.Contains(pageSchemes, u.Scheme)
	switch {
	case !program && u.Scheme != "http" && u.Scheme != "https":
		return &mistake{
			"pages cannot have that scheme", "write http, https, " + strings.Join(pageSchemes, ", "),
		}
	case strings.Contains(u.Host, "*") && !(program && u.Host == "*"):
		return &mistake{
			"an origin is exactly a scheme and a host",
			"name each host; only " + strings.Join(pageSchemes, ", ") + " may have * for all hosts",
		}
	}
	*dst.(*[]string) = append(*dst.(*[]string), strings.ToLower(v.text))
	return nil
}

func putPrefix(dst any, v value) *mistake {
	p, err := netip.ParsePrefix(v.text)
	if err != nil {
		addr, addrErr := netip.ParseAddr(v.text)
		if addrErr != nil || addr.Zone() != "" {
			return &mistake{"it is neither an address nor a prefix", "write it like 10.0.0.1 or 10.0.0.0/8"}
		}
		p = netip.PrefixFrom(addr, addr.BitLen())
	}
	*dst.(*[]netip.Prefix) = append(*dst.(*[]netip.Prefix), p.Masked())
	return nil
}

func putFlag(dst any, v value) *mistake {
	if v.text != "true" && v.text != "false" {
		return &mistake{"it is neither true nor false", "write true or false"}
	}
	switch dst := dst.(type) {
	case *bool:
		*dst = v.text == "true"
	case *inverted:
		*dst = v.text == "false"
	}
	return nil
}

// inverted is a field that is false when its key is true.
type inverted bool

func putRequirement(dst any, v value) *mistake {
	n, ok := negotiation.ParseNeed(v.text)
	if !ok {
		return &mistake{
			"it is not a capability", "write a name, a name with a version as in acme.review@2.1, or none",
		}
	}
	*dst.(*negotiation.Need) = n
	return nil
}

func putNeed(dst any, v value) *mistake {
	if m, ok := protocol.LookupMethod(v.name); !ok || m.Notification() {
		do := document.DidYouMean(v.name, requests(), "look it up in the specification")
		return &mistake{fmt.Sprintf("%q is not a method of a request", document.Printable(v.name)), do}
	}
	if v.text == "" {
		return &mistake{"no capability is named", "name one, or leave the method out"}
	}
	set(dst.(*map[string]string), v.name, v.text)
	return nil
}

// requests returns the methods that have an answer.
func requests() []string {
	return slices.DeleteFunc(protocol.MethodNames(), func(name string) bool {
		m, _ := protocol.LookupMethod(name)
		return m.Notification()
	})
}

func putKeyName(dst any, v value) *mistake {
	if err := auth.CheckName(v.text); err != nil {
		return &mistake{err.Error(), "name who uses the key"}
	}
	*dst.(*string) = v.text
	return nil
}

func putHash(dst any, v value) *mistake {
	h, err := auth.ParseHash(v.text)
	if err != nil {
		return &mistake{err.Error(), "`mcpd key new` prints a key and this line for it"}
	}
	*dst.(*auth.Hash) = h
	return nil
}

func putCommand(dst any, v value) *mistake {
	switch slash := strings.Contains(v.text, "/"); {
	case v.text == "":
		return &mistake{"it is empty", "name a program"}
	case slash && !filepath.IsAbs(v.text):
		return &mistake{
			"a relative path depends on where mcpd was started",
			"write an absolute path, or a name that is in PATH",
		}
	case !slash && strings.ContainsAny(v.text, " \t\n"):
		return &mistake{"it is not run by a shell", "put the program here and the rest in args"}
	}
	*dst.(*tenant.Secret) = tenant.NewSecretShownAs(v.text, v.shown)
	return nil
}

func putArg(dst any, v value) *mistake {
	list := dst.(*[]tenant.Secret)
	before := ""
	if n := len(*list); n > 0 {
		before = (*list)[n-1].Reveal()
	}
	*list = append(*list, tenant.NewSecretShownAs(v.text, maskArg(before, v.shown)))
	return nil
}

func putEnv(dst any, v value) *mistake {
	if !validEnv(v.name) {
		return &mistake{"it is not a variable name", "use letters, digits and _"}
	}
	set(dst.(*map[string]tenant.Secret), v.name, hidden(v))
	return nil
}

func putEnvName(dst any, v value) *mistake {
	if !validEnv(v.text) {
		return &mistake{"it is not a variable name", "write only the name here, and a value in env"}
	}
	*dst.(*[]string) = append(*dst.(*[]string), v.text)
	return nil
}

func putCwd(dst any, v value) *mistake {
	if !filepath.IsAbs(v.text) {
		return &mistake{
			"a relative path depends on where mcpd was started", "write an absolute path, beginning with /",
		}
	}
	*dst.(*tenant.Secret) = tenant.NewSecretShownAs(v.text, v.shown)
	return nil
}

func putURL(dst any, v value) *mistake {
	u, err := url.Parse(v.text)
	switch {
	case err != nil:
		return &mistake{"it is not a URL", "write it like https://host/mcp"}
	case u.Scheme != "http" && u.Scheme != "https":
		return &mistake{"only http and https are supported", "write it like https://host/mcp"}
	case u.Host == "" || u.Hostname() == "":
		return &mistake{"it has no host", "write it like https://host/mcp"}
	case u.User != nil:
		return &mistake{
			"a user or password in a URL ends up in logs", "put it into headers, as Authorization",
		}
	case u.Fragment != "":
		return &mistake{"a # part is never sent", "leave it out"}
	}
	shown := v.shown
	if address, _, ok := strings.Cut(shown, "?"); ok {
		shown = address + "?" + tenant.Redacted
	}
	shown = maskPath(shown)
	*dst.(*tenant.Secret) = tenant.NewSecretShownAs(v.text, shown)
	return nil
}

// proxySchemes are the supported protocols of proxies.
var proxySchemes = []string{"http", "https", "socks5", "socks5h"}

func putProxy(dst any, v value) *mistake {
	const example = "write it like http://proxy.example.com:3128, or direct"
	u, err := url.Parse(v.text)
	switch {
	case v.text == tenant.DirectProxy:
		*dst.(*tenant.Secret) = tenant.NewSecretShownAs(v.text, v.shown)
		return nil
	case err != nil || u.Hostname() == "":
		return &mistake{"it is not the URL of a proxy", example}
	case !slices.Contains(proxySchemes, u.Scheme):
		return &mistake{"only http, https, socks5 and socks5h are supported", example}
	case u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "":
		return &mistake{"a proxy has no path", example}
	}
	*dst.(*tenant.Secret) = tenant.NewSecretShownAs(v.text, maskUser(v.shown))
	return nil
}

func putHeader(dst any, v value) *mistake {
	name := textproto.CanonicalMIMEHeaderKey(v.name)
	switch {
	case name == "" || strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune("\"(),/:;<=>?@[\\]{}", r)
	}):
		return &mistake{"it is not a header name", "use letters, digits and -"}
	case wire.Reserved(name):
		return &mistake{"mcpd sets this header itself", "leave it out"}
	case strings.ContainsFunc(v.text, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
		return &mistake{"a header is one line without control characters", "check the end of its value"}
	}
	all := dst.(*map[string]tenant.Secret)
	if _, twice := (*all)[name]; twice {
		return &mistake{"the header appears twice, in another case", "keep one"}
	}
	set(all, name, hidden(v))
	return nil
}

// hidden returns a secret that shows only the variables it came from.
func hidden(v value) tenant.Secret {
	if len(v.vars) == 0 {
		return tenant.NewSecret(v.text)
	}
	return tenant.NewSecretShownAs(v.text, "<redacted, from "+strings.Join(v.vars, ", ")+">")
}

func set[V any](m *map[string]V, name string, v V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[name] = v
}
