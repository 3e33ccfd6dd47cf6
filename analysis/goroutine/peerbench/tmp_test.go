package main
import ("testing";"bytes";"io";"context";"time";"leakdiff/analysis/bundle";"leakdiff/analysis/ingest";"leakdiff/analysis/report";"runtime")
func TestTmp(t *testing.T){
 for _, n := range []int{10,25} {
 a,err:=captures(n,100,1); if err!=nil {t.Fatal(err)}
 b:=time.Now()
 r,err:=ingest.Run(context.Background(), ingest.Config{}, []bundle.Input{{Name:"x.tar.gz",Size:int64(len(a)),Open:func()(io.ReadCloser,error){return io.NopCloser(bytes.NewReader(a)),nil}}})
 if err!=nil {t.Fatal(err)}
 var m runtime.MemStats; runtime.GC(); runtime.ReadMemStats(&m)
 t.Log(n, len(r.Snapshots), "ingest", time.Since(b), "heap", m.HeapAlloc>>20)
 b=time.Now()
 c:=report.Build(r.Snapshots, r.Problems, report.Options{})
 runtime.GC(); runtime.ReadMemStats(&m)
 t.Log(len(c.Lines), "report", time.Since(b), "heap", m.HeapAlloc>>20)
 }
}
