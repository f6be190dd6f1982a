package proxies

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"mcpd/internal/mcptest"
)

const (
	// pageAddress is the address of the host on the page, and wait is the timeout of the page's
	// proxies.
	pageAddress, pageTimeout = "127.0.0.1:7420", "60s"
	// proxyTimeout is the timeout of the proxies in these tests, and alive is the host's keep-alive
	// interval.
	proxyTimeout, keepAlive = "3s", "1s"
)

// start starts a host with the page's configuration and returns its address.
func start(t *testing.T, more string) (address string) {
	t.Helper()
	config := fill(t, block(t, "yaml"), pageAddress, "127.0.0.1:0") + more +
		"limits: {keep_alive: " + keepAlive + "}\ntenants: {acme: {servers: {demo: {builtin: demo}}}}\n"
	return strings.TrimPrefix(mcptest.Start(t, mcptest.HostOptions{Config: config}).MCP, "http://")
}

func TestNginx(t *testing.T) {
	t.Parallel()
	nginx := program(t, "nginx")
	f, port := newFiles(t), freePort(t)
	temporary := ""
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		temporary += fmt.Sprintf("%s_temp_path %s/%s;\n", kind, f.dir, kind)
	}
	config := f.write(t, "conf", fill(t, block(t, "nginx"),
		"http {", "http {\naccess_log off;\n"+temporary, pageAddress, start(t, ""), "listen 443",
		"listen 127.0.0.1:"+port,
		"/etc/ssl/mcp.example.com.pem", f.cert, "/etc/ssl/mcp.example.com.key", f.key, pageTimeout,
		proxyTimeout))
	run(t, "127.0.0.1:"+port, f, nginx, "-p", f.dir, "-c", config, "-e", "stderr", "-g",
		"daemon off; pid "+f.dir+"/pid;")
	drive(t, port, f.trust, "", "/tools", "/stripped")
}

func haproxy(t *testing.T, language, host string, pairs ...string) (port string, f files) {
	t.Helper()
	path := program(t, "haproxy")
	f, port = newFiles(t), freePort(t)
	pairs = append([]string{pageAddress, host, "bind :443", "bind 127.0.0.1:" + port, pageTimeout,
		proxyTimeout}, pairs...)
	for i := range pairs {
		pairs[i] = strings.ReplaceAll(pairs[i], "BOTH", f.both)
	}
	config := f.write(t, "conf", fill(t, block(t, language), pairs...))
	run(t, "127.0.0.1:"+port, f, path, "-f", config, "-db")
	return port, f
}

func TestHAProxy(t *testing.T) {
	t.Parallel()
	port, f := haproxy(t, "haproxy", start(t, ""), "/etc/ssl/mcp.example.com.both.pem", "BOTH")
	drive(t, port, f.trust, "", "/tools", "/stripped")
}

// The page says that a proxy may speak HTTP/2 to the host.
func TestHAProxyWithHTTP2(t *testing.T) {
	t.Parallel()
	host := start(t, "h2c: true\n")
	port, f := haproxy(t, "haproxy", host, "/etc/ssl/mcp.example.com.both.pem", "BOTH",
		"server mcpd "+host, "server mcpd "+host+" proto h2")
	drive(t, port, f.trust, "")
}

// The page says that the host itself may terminate TLS behind the PROXY protocol.
func TestHAProxyWithPROXY(t *testing.T) {
	t.Parallel()
	program(t, "haproxy")
	f := newFiles(t)
	host := start(t, fmt.Sprintf("proxy_protocol: true\ntls: {cert: %q, key: %q}\n", f.cert, f.key))
	port, _ := haproxy(t, "haproxy-tcp", host)
	drive(t, port, f.trust, "", "/tools")
}

func TestCaddy(t *testing.T) {
	t.Parallel()
	caddy := program(t, "caddy")
	f, port := newFiles(t), freePort(t)
	config := f.write(t, "Caddyfile",
		"{\nadmin off\nauto_https disable_redirects\n}\n"+fill(t, block(t, "caddyfile"),
			"tls /etc/ssl/mcp.example.com.pem /etc/ssl/mcp.example.com.key",
			"tls "+f.cert+" "+f.key+"\nbind 127.0.0.1",
			"mcp.example.com {", "mcp.example.com:"+port+" {", pageAddress, start(t, ""), pageTimeout,
			proxyTimeout))
	run(t, "127.0.0.1:"+port, f, caddy, "run", "--config", config, "--adapter", "caddyfile")
	drive(t, port, f.trust, "", "/tools", "/stripped")
}

func TestApache(t *testing.T) {
	t.Parallel()
	apache := program(t, "apache2", "httpd")
	f, port := newFiles(t), freePort(t)
	const modules = "/usr/lib/apache2/modules"
	if _, err := os.Stat(modules); err != nil {
		t.Skipf("the modules of Apache are not in %s", modules)
	}
	before := fmt.Sprintf(
		"ServerRoot %s\nPidFile %s/pid\nMutex file:%s\nErrorLog /dev/stderr\nListen 127.0.0.1:%s\n",
		f.dir, f.dir, f.dir, port,
	)
	if os.Geteuid() == 0 {
		before += "User nobody\nGroup nogroup\n"
	}
	for _, m := range []string{"mpm_event", "authz_core", "proxy", "proxy_http", "headers",
		"socache_shmcb", "ssl", "http2"} {
		before += fmt.Sprintf("LoadModule %s_module %s/mod_%s.so\n", m, modules, m)
	}
	config := f.write(t, "conf",
		before+fill(t, block(t, "apache"), "*:443", "*:"+port, pageAddress, start(t, ""),
			"/etc/ssl/mcp.example.com.pem", f.cert, "/etc/ssl/mcp.example.com.key", f.key, "ProxyTimeout 60",
			"ProxyTimeout 3", "ttl=60", "ttl=3"))
	run(t, "127.0.0.1:"+port, f, apache, "-f", config, "-DFOREGROUND")
	drive(t, port, f.trust, "", "/tools", "/stripped")
}
