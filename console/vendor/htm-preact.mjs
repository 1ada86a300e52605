import{h as r,Component as o,render as t}from"./preact.mjs";export{h,render,Component}from"./preact.mjs";import e from"./htm.mjs";var m=e.bind(r);export{m as html};
