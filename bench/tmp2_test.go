package bench
import ("testing";"fmt";"mcpd/supervisor";"runtime";"runtime/pprof";"os";"mcpd/protocol/jsonrpc";"mcpd/transport/streamable";"github.com/go-json-experiment/json/jsontext")
func TestTmpSess(t *testing.T){
	runtime.MemProfileRate = 64
	h := startHost(t, memoryConfig, supervisor.Options{Embedded: true})
	open := func() {
		out := make(slot,1)
		body := []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":`+initializeParams+`}`)
		m,_ := jsonrpc.Decode(body, jsonrpc.Limits{})
		_ = jsontext.Value(nil)
		s, err := h.Edge().Open(t.Context(), streamable.Endpoint{Tenant:"default"}, m, out)
		if err!=nil {t.Fatal(err)}
		if m:=<-out; m.Error!=nil {t.Fatal(m.Error)}
		s.Deliver(t.Context(), jsonrpc.Notification("notifications/initialized",nil),nil)
		out2 := make(slot,1)
		s.Deliver(t.Context(), jsonrpc.Request(jsonrpc.IntID(2),"ping",nil),out2)
		<-out2
	}
	for range 100 {open()}
	var a,b runtime.MemStats
	runtime.GC();runtime.GC()
	runtime.ReadMemStats(&a)
	const n=10000
	for range n {open()}
	runtime.GC();runtime.GC()
	runtime.ReadMemStats(&b)
	fmt.Println("heap/session",(b.HeapAlloc-a.HeapAlloc)/n,"objects",(b.HeapObjects-a.HeapObjects)/n,"stack",(b.StackInuse-a.StackInuse)/n, "alloc/open", (b.TotalAlloc-a.TotalAlloc)/n, (b.Mallocs-a.Mallocs)/n)
	f,_ := os.Create("/tmp/sess.mem")
	pprof.Lookup("heap").WriteTo(f,0)
	f.Close()
}
