/** The remedy for a missing right of Lodestone: the commands that print its roles. */

/** The roles of a cluster with pods have a part of their own. The configuration may need rights that only its own roles have. */
export const APPLY_ROLES =
  "apply the roles: 'lodestone manifests rbac --config FILE' prints them, in a cluster with pods 'rbac volumes --config FILE'; or upgrade the chart"
