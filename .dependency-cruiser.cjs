/** The layers of docs/dev/architecture.md: a folder imports only from layers below its own, and never from another folder of its layer. */
const layers = [
  ['api'],
  ['base'],
  ['s3'],
  ['core'],
  ['store', 'locality', 'tls', 'telemetry', 'mover'],
  ['queries'],
  ['webhooks', 'reconcile'],
  ['server'],
  ['app'],
  ['cli'],
]
/** Of the ground, the clock and what watches or makes folders. Everything else in these folders is pure. */
const IMPURE = '^src/base/(time/(clock|wall-clock|backoff-timer)|folder-watch|make-folder)\\.ts$'
const PURE = '^src/(api|base|s3|core)/'
/** The parts of core that the page runs too. They import types, and what the page may import. */
const PARTS_FOR_PAGE = '^src/core/(what-if/(effect-words|supposition)|tolerations)\\.ts$'
/** Adopts the narrowing of volcano-global, also after `lodestone migrate`. */
const TESTS_FROM_ABOVE = '^src/core/resource-binding/rules/adopted-narrowing\\.test\\.ts$'
/** What plugins share or consist of, and their table: every other file of the folder is a plugin. */
const PLUGIN_PARTS = '^src/locality/plugins/(index|name-nodes|iceberg-table|iceberg-missing|hive-messages)\\.ts$'
const at = (names) => `^src/(${names.join('|')})/`
const error = (name, from, to) => ({ name, severity: 'error', from, to })

module.exports = {
  forbidden: [
    ...layers
      .slice(0, -1)
      .map((layer, i) =>
        error(
          `layer-${i}-imports-only-from-below`,
          { path: at(layer), pathNot: TESTS_FROM_ABOVE },
          { path: [at(layers.slice(i + 1).flat()), '^src/main\\.ts$'] },
        ),
      ),
    ...layers
      .filter((layer) => layer.length > 1)
      .map((layer) =>
        error(
          `no-import-within-layer-of-${layer[0]}`,
          { path: at(layer) },
          {
            path: at(layer),
            pathNot: [
              '^src/$1/',
              '^src/telemetry/',
              '^src/store/(store|for-each-in-slices)\\.ts$',
              '^src/locality/locality\\.ts$',
            ],
          },
        ),
      ),
    error('core-is-pure', { path: PURE, pathNot: ['\\.(test|fake)\\.ts$', IMPURE] }, { dependencyTypes: ['core'] }),
    error('core-has-no-clock', { path: PURE, pathNot: ['\\.(test|fake)\\.ts$', IMPURE] }, { path: IMPURE }),
    error(
      'core-libraries',
      { path: PURE, pathNot: '\\.test\\.ts$' },
      {
        dependencyTypes: ['npm', 'npm-dev', 'npm-no-pkg', 'npm-unknown'],
        pathNot: 'node_modules/(fast-json-patch|ajv|ipaddr\\.js)/',
      },
    ),
    error(
      'queries-know-what-is-cached',
      { path: '^src/queries/', pathNot: '\\.test\\.ts$' },
      { path: '^src/store/', pathNot: '^src/store/((store|any-kind|for-each-in-slices)\\.ts$|kinds/)' },
    ),
    error(
      'interfaces-only',
      { path: '^src/(webhooks|reconcile|server)/', pathNot: '\\.test\\.ts$' },
      { path: '^src/store/', pathNot: '^src/store/(store|for-each-in-slices)\\.ts$' },
    ),
    error(
      'no-import-between-plugins',
      { path: '^src/locality/plugins/([a-z0-9-]+)\\.ts$', pathNot: PLUGIN_PARTS },
      { path: '^src/locality/plugins/[a-z0-9-]+\\.ts$', pathNot: [PLUGIN_PARTS, '^src/locality/plugins/$1\\.ts$'] },
    ),
    error(
      'one-kubernetes-client',
      { pathNot: '^src/store/cluster/(connection|kubeconfig)\\.ts$' },
      { path: '@kubernetes/client-node' },
    ),
    error(
      'no-test-code-in-source',
      { path: '^src/', pathNot: '\\.(test|suite|fake)\\.ts$' },
      { path: '(\\.(test|suite|fake)\\.ts$|^test/)' },
    ),
    // The page runs in a browser: of the server it has only types, and what is pure.
    error(
      'the-page-runs-in-a-browser',
      { path: '^src/page/', pathNot: '\\.test\\.ts$' },
      {
        pathNot: ['^src/(page|base|api)/', PARTS_FOR_PAGE, 'node_modules/preact/'],
        dependencyTypesNot: ['type-only'],
      },
    ),
    error(
      'core-for-the-page-runs-in-a-browser',
      { path: PARTS_FOR_PAGE },
      { pathNot: ['^src/(base|api)/', PARTS_FOR_PAGE], dependencyTypesNot: ['type-only'] },
    ),
    error('no-cycles', {}, { circular: true }),
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.check.json' },
    doNotFollow: { path: 'node_modules' },
  },
}
