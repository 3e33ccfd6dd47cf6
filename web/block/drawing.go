package block

import (
	"github.com/a-h/templ"

	"leakdiff/web/chart"
)

// drawing draws a chart.
func drawing(c any) templ.Component {
	switch c := c.(type) {
	case chart.SparkData:
		return chart.Spark(c)
	case chart.SmallData:
		return chart.SmallMultiple(c)
	case chart.MembersData:
		return chart.Members(c)
	case chart.LifelinesData:
		return chart.Lifelines(c)
	case chart.LanesData:
		return chart.Lanes(c)
	case chart.StackData:
		return chart.Stack(c)
	case chart.RatesData:
		return chart.Rates(c)
	case chart.StatesData:
		return chart.StatesBar(c)
	case chart.BarsData:
		return chart.Bars(c)
	case chart.ShapeData:
		return chart.Shape(c)
	case chart.SummaryData:
		return chart.SummaryBar(c)
	case chart.FlameData:
		return chart.Flame(c)
	case chart.TimelineData:
		return chart.Timeline(c)
	case chart.Table:
		return chart.Figures(c)
	}
	return templ.NopComponent
}
