/** Opens metrics of the table in a registry. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { type LabelOf, METRICS, type MetricDefinition, type MetricName, type MetricOf } from './metric-table.ts'

export interface MetricFactory {
  counter<Name extends MetricOf<'counter'>>(name: Name): Counter<LabelOf<Name>>
  /** `collect` sets the values of the gauge at each scrape. */
  gauge<Name extends MetricOf<'gauge'>>(
    name: Name,
    collect?: (gauge: Gauge<LabelOf<Name>>) => void,
  ): Gauge<LabelOf<Name>>
  histogram<Name extends MetricOf<'histogram'>>(name: Name): Histogram<LabelOf<Name>>
}

export function openMetricFactory(registry: Registry): MetricFactory {
  const options = <Name extends MetricName>(name: Name) => {
    const { help, labels = [], buckets }: MetricDefinition = METRICS[name]
    return {
      name,
      help,
      labelNames: labels as LabelOf<Name>[],
      registers: [registry],
      ...(buckets && { buckets: [...buckets] }),
    }
  }
  return {
    counter: (name) => new Counter(options(name)),
    gauge: (name, collect) =>
      new Gauge({
        ...options(name),
        ...(collect && {
          collect() {
            collect(this)
          },
        }),
      }),
    histogram: (name) => new Histogram(options(name)),
  }
}
