package bench
import ("testing";"fmt";"mcpd/internal/fault";"mcpd/internal/clock";"runtime";"time")
func TestTmpConn(t *testing.T){
	faults := fault.New(clock.System)
	r := rows(t, faults)
	arm(t,faults)
	v := r[len(r)-1]
	var a,b runtime.MemStats
	runtime.ReadMemStats(&a)
	s:=time.Now()
	h,err := crashes(v, 5000)
	if err!=nil {t.Fatal(err)}
	runtime.ReadMemStats(&b)
	fmt.Println("took",time.Since(s),"bytes/crash",(b.TotalAlloc-a.TotalAlloc)/5000,"allocs",(b.Mallocs-a.Mallocs)/5000,"gcs",b.NumGC-a.NumGC, "goroutines", runtime.NumGoroutine(), "heap", b.HeapAlloc, "p50",h.ValueAtQuantile(50),"p99",h.ValueAtQuantile(99))
}
