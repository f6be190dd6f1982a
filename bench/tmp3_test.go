package bench
import ("testing";"mcpd/supervisor";"runtime";"runtime/pprof";"os";"fmt")
func TestTmpGet(t *testing.T){
	runtime.MemProfileRate = 64
	h := startHost(t, memoryConfig, supervisor.Options{})
	a,_ := h.Addrs()
	holdSessions(t, "http://"+a+"/mcp", 3000, use{stream:true})
	for range 4 {runtime.GC()}
	f,_ := os.Create("/tmp/get.mem")
	pprof.Lookup("heap").WriteTo(f,0)
	f.Close()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	fmt.Println("frag", m.HeapInuse-m.HeapAlloc, m.HeapInuse,m.HeapAlloc,m.StackInuse, m.GCSys,m.OtherSys,m.MSpanInuse)
}
