/** Which version of the API and of the service this is. May import: nothing. */

/** The version of the contract that is served. */
export const API_VERSION = "1.0";
/** The version of the package; a test holds the two together. */
export const SERVER_VERSION = "0.1.0";
