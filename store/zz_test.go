package store
import ("testing";"strings";"time";"fmt";"leakdiff/analysis")
func TestZZ(t *testing.T){
 for _, sd := range []bool{true,false} {
  f:=open(t)
  c := f.newCase("a")
  if !sd { for _,x:=range []string{"function_text","family_text"}{ _,err:=f.writer.Exec(fmt.Sprintf(`INSERT INTO %[1]s (%[1]s, rank) VALUES ('secure-delete', 0)`,x)); f.ok(err)}}
 for i, name := range []string{"", "nul\x00inside", "bad utf-8 \xff\xfe", `quotes " ' %`, strings.Repeat("long.", 20000), "日本語.関数"} {
		snap := analysis.Snapshot{ID: fmt.Sprintf("s%d", i), Groups: []analysis.Group{{
			Family:   &analysis.Family{Fingerprint: fmt.Sprint("g1:", i), Kind: analysis.KindGoroutine, Title: name, Loose: []string{name, name}, LooseCreator: name},
			Variants: []analysis.Variant{{Fingerprint: "e1:x", Stack: &analysis.Stack{Frames: []analysis.Frame{{Func: name, File: name, Line: -1}}}, Count: 1}},
		}}}
  s:=time.Now()
		b := f.filled(c.ID, fmt.Sprint(i), Result{Snapshots: []analysis.Snapshot{snap}})
  d1:=time.Since(s); s=time.Now()
  _,err3:=f.SearchFunctions(f.ctx,name,5)
  d3:=time.Since(s); s=time.Now()
  if i==4 {for _,x := range []int{10,50,1000,5000} {s:=time.Now(); f.SearchFunctions(f.ctx,name[:x],5); t.Log(x,time.Since(s))}}
		f.ok(f.RemoveBundle(f.ctx, b.ID))
  d2:=time.Since(s); s=time.Now()
  var v,v2,v3 string; f.writer.QueryRow("pragma integrity_check").Scan(&v)
  f.reader.QueryRow("pragma integrity_check").Scan(&v2)
  f.reader.QueryRow("select group_concat(id) from function_text_data").Scan(&v3)
  t.Log(sd, i, err3,d1,d3,d2,v, v2,v3)
 }
  f.close()
 }
}
