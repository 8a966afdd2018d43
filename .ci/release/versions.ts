/** The places that name the version of a release, and its notes. */

export interface NamedVersions {
  /** Of package.json. */
  package: string
  chart: { version: string; appVersion: string }
  changelog: string
  /** Of the release, `v1.2.3`; undefined for a dry run. */
  tag: string | undefined
  commit: string
}

/** Returns what differs from the version of package.json, one line each. */
export function versionFaults({ package: version, chart, changelog, tag, commit }: NamedVersions): string[] {
  return [
    chart.version === version ? [] : [`charts/lodestone/Chart.yaml: version: ${chart.version}; must be ${version}`],
    chart.appVersion === version
      ? []
      : [`charts/lodestone/Chart.yaml: appVersion: ${chart.appVersion}; must be ${version}`],
    notesOf(changelog, version) === ''
      ? [`CHANGELOG.md: no notes below the heading [${version}]; move those of the release there`]
      : [],
    tag === undefined || tag === `v${version}` ? [] : [`the tag is ${tag}; must be v${version}`],
    tag !== undefined && commit.endsWith('-dirty') ? ['the sources have local changes; commit them'] : [],
  ].flat()
}

/** Returns the notes of a version in a changelog in the format of Keep a Changelog; empty without any. */
export function notesOf(changelog: string, version: string): string {
  const sections = changelog.split(/^## /m)
  const section = sections.find((text) => text.startsWith(`[${version}]`)) ?? ''
  return section.slice(section.indexOf('\n') + 1).trim()
}
