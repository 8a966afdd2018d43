/** Reads the queries of a dashboard of Grafana. */

interface Panel {
  title: string
  targets?: { expr: string; legendFormat: string }[]
}

export interface Dashboard {
  templating: { list: { name: string; query: string | { query: string } }[] }
  panels: Panel[]
}

export interface PanelQuery {
  /** The panel and its query, such as `Healthy: {{system}}`. */
  name: string
  /** The labels that the legend shows. */
  labels: string[]
  expr: string
}

/** Returns the queries of all panels, as Grafana sends them: with a value for each variable. */
export function panelQueries({ panels }: Dashboard, variables: Readonly<Record<string, string>>): PanelQuery[] {
  return panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr, legendFormat }) => ({
      name: `${title}: ${legendFormat}`,
      labels: [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label),
      expr: withValues(expr, variables),
    })),
  )
}

/** The variables that show all replicas. */
export const ALL_REPLICAS = { namespace: '.*', instance: '.*', __rate_interval: '5m' }

/** Replaces `$name` by the value of each variable. Throws for one without a value. */
export function withValues(text: string, variables: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\$(\w+)/g, (_, name: string) => {
    const value = variables[name]
    if (value === undefined) throw new Error(`the variable ${name} has no value`)
    return value
  })
}
