/** Reads the queries of a dashboard of Grafana. */

interface Panel {
  title: string
  targets?: { expr: string }[]
}

export interface Dashboard {
  templating: { list: { name: string; query?: string | { query: string } }[] }
  panels: Panel[]
}

/** The queries of all panels, as Grafana sends them: with a value for each variable. */
export function dashboardQueries({ panels }: Dashboard): string[] {
  return panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr.replaceAll(/\$\w+/g, '5m')))
}
