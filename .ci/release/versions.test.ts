import { describe, expect, test } from 'vitest'
import { notesOf, versionFaults } from './versions.ts'

const changelog =
  '# Changelog\n\n## [Unreleased]\n\n- later\n\n## [1.2.3] - 2026-11-26\n\n### Added\n\n- news\n\n## [1.2.2]\n\n- old\n'
const valid = {
  ...{ package: '1.2.3', changelog, tag: 'v1.2.3', commit: 'abc' },
  chart: { version: '1.2.3', appVersion: '1.2.3' },
}

describe('a release', () => {
  test.each([
    { what: 'is valid with one version everywhere', given: {}, want: [] },
    { what: 'is valid without a tag, as a dry run', given: { tag: undefined, commit: 'abc-dirty' }, want: [] },
    { what: 'has no other tag', given: { tag: '1.2.3' }, want: ['the tag is 1.2.3; must be v1.2.3'] },
    {
      what: 'has the version in the chart',
      given: { chart: { version: '1.2.2', appVersion: '1.0.0' } },
      want: [
        'charts/lodestone/Chart.yaml: version: 1.2.2; must be 1.2.3',
        'charts/lodestone/Chart.yaml: appVersion: 1.0.0; must be 1.2.3',
      ],
    },
    {
      what: 'has notes',
      given: { changelog: '## [Unreleased]\n\n- news\n\n## [1.2.3]\n' },
      want: ['CHANGELOG.md: no notes below the heading [1.2.3]; move those of the release there'],
    },
    {
      what: 'with a tag has no local changes',
      given: { commit: 'abc-dirty' },
      want: ['the sources have local changes; commit them'],
    },
  ])('$what', ({ given, want }) => {
    expect(versionFaults({ ...valid, ...given })).toEqual(want)
  })

  test('has the notes of its own heading', () => {
    expect(notesOf(changelog, '1.2.3')).toBe('### Added\n\n- news')
    expect(notesOf(changelog, '1.2')).toBe('')
  })
})
