package page

import (
	"context"
	"io"

	"github.com/a-h/templ"

	"leakdiff/web/block"
	"leakdiff/web/view"
)

// Written is a page whose content is a document.
func Written(v view.Written) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		return Layout(v.Shell).Render(templ.WithChildren(ctx, block.Blocks(v.Body.Blocks)), w)
	})
}

// The parts of blocks that templates of this package print as well.
var (
	verdictChip   = block.Verdict
	VerdictStrong = block.VerdictStrong
	Delta         = block.Delta
	breakable     = block.Breakable
	triageChip    = block.Mark
)

// The blocks that templates print as a part of their page.

func familyKnowledge(k *view.FamilyKnowledge) templ.Component { return block.Blocks(k.Blocks()) }

func caseContext(v view.Case) templ.Component { return block.Blocks(v.ContextBlocks()) }

func paging(p view.Paging, label string) templ.Component { return block.Blocks(p.Blocks(label)) }

func flameLegend(keys []view.FlameKey) templ.Component { return block.Blocks(view.FlameLegend(keys)) }

func factList(facts []view.Pair) templ.Component { return block.Blocks(view.FactList(facts)) }

func stateWords(states []view.State) templ.Component { return block.Blocks(view.StateWords(states)) }

func normTable(steps []view.NormStep) templ.Component { return block.Blocks(view.NormTable(steps)) }

func attributeTable(all []view.Pair) templ.Component { return block.Blocks(view.AttributeTable(all)) }

func familyTitle(n view.FamilyName) templ.Component { return block.Blocks(n.TitleBlocks()) }

func kinList(rows []view.CaseShare) templ.Component { return block.Blocks(view.ShareList(rows)) }

func miniName(n view.FamilyName) templ.Component { return block.Blocks(n.ShortBlocks()) }

func caseShort(v view.Case) templ.Component { return block.Blocks(v.ShortBlocks()) }

func caseTimeline(v view.Case) templ.Component { return block.Blocks(v.TimelineBlocks()) }

func caseFindings(v view.Case) templ.Component { return block.Blocks(v.FindingBlocks()) }

func caseSide(v view.Case) templ.Component { return block.Blocks(v.SideBlocks()) }

func caseMinis(v view.Case) templ.Component { return block.Blocks(v.MiniBlocks()) }

func caseLimits(v view.Case) templ.Component { return block.Blocks(v.LimitBlocks()) }

func caseFamilies(v view.Case) templ.Component { return block.Blocks(v.FamilyBlocks()) }

func findingStack(t *view.Trace) templ.Component { return block.Blocks(view.TraceBlocks(t)) }

func problem(p view.Problem) templ.Component { return block.Problem(p.Block()) }
